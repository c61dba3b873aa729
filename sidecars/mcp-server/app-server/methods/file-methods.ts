/** `fs/*`: files with the server's own rights, absolute paths only. */
import { watch } from 'node:fs'
import { cp, lstat, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { constants } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { boolean, object, string, withDefault, type Decoder } from '../../../protocol/decode.ts'
import type { AppConnection } from '../connection.ts'
import { method, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'

const MAX_READ_BYTES = 512 * 1024 * 1024
/** Editors write a file in several steps; one notification is enough. */
const WATCH_QUIET_MS = 50

const absolute: Decoder<string> = (value, path) => {
  const text = string(value, path)
  if (!isAbsolute(text))
    throw invalidRequest(
      `Invalid request: AbsolutePathBuf deserialized without a base path (${path}: "${text}" is not absolute)`,
    )
  return text
}
const onePath = object({ path: absolute })
const watchQueue = ({ watchId }: { watchId: string }, connection: AppConnection) => ({
  key: `watch:${connection.id}:${watchId}`,
  access: 'exclusive' as const,
})

export function fileMethods(): Record<string, Method> {
  return {
    'fs/readFile': method(onePath, { run: ({ path }) => said(readRegular(path)) }),
    'fs/writeFile': method(object({ path: absolute, dataBase64: string }), {
      run: ({ path, dataBase64 }) => said(writeFile(path, Buffer.from(dataBase64, 'base64')).then(() => ({}))),
    }),
    'fs/createDirectory': method(object({ path: absolute, recursive: withDefault(boolean, true) }), {
      run: ({ path, recursive }) => said(mkdir(path, { recursive }).then(() => ({}))),
    }),
    'fs/getMetadata': method(onePath, { run: ({ path }) => said(metadata(path)) }),
    'fs/readDirectory': method(onePath, { run: ({ path }) => said(entriesOf(path)) }),
    'fs/remove': method(
      object({ path: absolute, recursive: withDefault(boolean, true), force: withDefault(boolean, true) }),
      {
        run: ({ path, recursive, force }) => said(rm(path, { recursive, force }).then(() => ({}))),
      },
    ),
    'fs/copy': method(
      object({ sourcePath: absolute, destinationPath: absolute, recursive: withDefault(boolean, false) }),
      {
        run: ({ sourcePath, destinationPath, recursive }) =>
          said(cp(sourcePath, destinationPath, { recursive, verbatimSymlinks: true }).then(() => ({}))),
      },
    ),
    'fs/watch': method(object({ watchId: string, path: absolute }), {
      queue: watchQueue,
      run: ({ watchId, path }, { connection }) => {
        startWatch(connection, watchId, path)
        return { path }
      },
    }),
    'fs/unwatch': method(object({ watchId: string }), {
      queue: watchQueue,
      run: ({ watchId }, { connection }) => {
        connection.release(`watch:${watchId}`)
        return {}
      },
    }),
  }
}

/** File system errors are the caller's: they name the path and the system's reason. */
async function said<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === undefined ? error : invalidRequest((error as Error).message)
  }
}

async function readRegular(path: string): Promise<{ dataBase64: string }> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const info = await file.stat()
    if (!info.isFile()) throw invalidRequest(`${path} is not a regular file`)
    if (info.size > MAX_READ_BYTES)
      throw invalidRequest(`${path} is too large to read: limit is ${MAX_READ_BYTES} bytes`)
    return { dataBase64: (await file.readFile()).toString('base64') }
  } finally {
    await file.close()
  }
}

async function metadata(path: string) {
  const [own, target] = await Promise.all([lstat(path), stat(path)])
  return {
    isDirectory: target.isDirectory(),
    isFile: target.isFile(),
    isSymlink: own.isSymbolicLink(),
    createdAtMs: Math.floor(target.birthtimeMs),
    modifiedAtMs: Math.floor(target.mtimeMs),
  }
}

async function entriesOf(path: string) {
  const entries = await readdir(path, { withFileTypes: true })
  const resolved = await Promise.all(
    entries.map(async (entry) => {
      const info = entry.isSymbolicLink() ? await stat(join(path, entry.name)).catch(() => null) : entry
      return info && { fileName: entry.name, isDirectory: info.isDirectory(), isFile: info.isFile() }
    }),
  )
  return { entries: resolved.filter((entry) => entry !== null) }
}

function startWatch(connection: AppConnection, watchId: string, path: string): void {
  connection.release(`watch:${watchId}`)
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let watcher
  try {
    watcher = watch(path, (_, name) => {
      changed.add(name === null || !isFolderChange(path, name) ? path : join(path, name))
      timer ??= setTimeout(() => {
        timer = undefined
        const changedPaths = [...changed]
        changed.clear()
        connection.notify('fs/changed', { watchId, changedPaths })
      }, WATCH_QUIET_MS)
    })
  } catch (error) {
    throw invalidRequest(`${path} cannot be watched: ${(error as Error).message}`)
  }
  watcher.on('error', () => connection.release(`watch:${watchId}`))
  connection.own(`watch:${watchId}`, () => {
    clearTimeout(timer)
    watcher.close()
  })
}

/** A watched file names itself in its events; a watched folder names what is in it. */
const isFolderChange = (path: string, name: string): boolean => !path.endsWith(`/${name}`)
