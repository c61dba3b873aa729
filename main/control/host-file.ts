import { readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import {
  decode,
  integer,
  literal,
  nullable,
  object,
  string,
  withDefault,
  type Infer,
} from '../../sidecars/protocol/decode.ts'
import { isSameProcess } from '../../sidecars/rpc/process-identity.ts'
import { describeDiskTrouble } from '../storage/disk-trouble.ts'
import { keepAside } from '../storage/keep-aside.ts'
import { replaceFile } from '../storage/replace-file.ts'

const missing = withDefault(nullable(string), null)

/** `run/host.json`: how to reach the running host. Mode 0600, because it holds both tokens. */
export const hostFile = object({
  pid: integer(1),
  /** Start time of the process, as in `ProcessIdentity`. */
  startedAt: string,
  instanceId: string,
  version: string,
  kind: literal('app', 'headless'),
  controlSocket: string,
  /** Can decide requests; for the command line only. */
  controlToken: string,
  mcpSocket: missing,
  /** For agents; can never decide. */
  agentToken: string,
  /** The app-server protocol: a socket, and a WebSocket when the settings want one, with its own token. */
  appServer: missing,
  appServerWs: missing,
  appServerToken: missing,
  execSocket: missing,
  execWs: missing,
  mcpHttp: missing,
  proxyHttp: missing,
})
export type HostFile = Infer<typeof hostFile>

/** host.json stands there and cannot be read as one. */
export class HostFileError extends Error {
  override readonly name = 'HostFileError'
}

export const hostFilePath = (lockDir: string): string => join(lockDir, 'host.json')

/** For the holder of the host lock. */
export async function writeHostFile(lockDir: string, content: HostFile): Promise<void> {
  await replaceFile(hostFilePath(lockDir), `${JSON.stringify(content, null, 2)}\n`)
}

export async function removeHostFile(lockDir: string): Promise<void> {
  await unlink(hostFilePath(lockDir)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/**
 * Undefined when there is none.
 * @throws HostFileError naming the field that is wrong
 */
export async function readHostFile(lockDir: string): Promise<HostFile | undefined> {
  const path = hostFilePath(lockDir)
  const text = await readFile(path, 'utf8').catch(async (error: NodeJS.ErrnoException) => {
    // With a file where the data folder should be there is no host either; its start says what is wrong.
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new HostFileError(`${path} cannot be read: ${await describeDiskTrouble(error, path)}`)
  })
  if (text === undefined) return undefined
  try {
    return decode(hostFile, JSON.parse(text) as unknown)
  } catch (error) {
    throw new HostFileError(`${path}: ${(error as Error).message}; restart Gatehouse to have it written anew`)
  }
}

/** The file of a host that is alive; one that a killed host left behind counts as none. */
export async function readLiveHostFile(lockDir: string): Promise<HostFile | undefined> {
  const found = await readHostFile(lockDir)
  return found && (await isSameProcess(found)) ? found : undefined
}

/** Moves an unreadable host.json out of the way. For the holder of the host lock, before it writes its own. */
export async function keepCorruptHostFile(lockDir: string, onProblem: (message: string) => void): Promise<void> {
  try {
    await readHostFile(lockDir)
  } catch (error) {
    if (!(error instanceof HostFileError)) throw error
    const aside = await keepAside(hostFilePath(lockDir))
    onProblem(`${error.message.split(';')[0]}; kept as ${aside}`)
  }
}
