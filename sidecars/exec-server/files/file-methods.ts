import type { Decoder } from '../../protocol/decode.ts'
import {
  canonicalizeParams,
  closeHandleParams,
  copyParams,
  createDirectoryParams,
  getMetadataParams,
  openParams,
  readBlockParams,
  readDirectoryParams,
  readFileParams,
  removeParams,
  walkParams,
  watchMissingParams,
  writeBlockParams,
  writeFileParams,
} from '../../protocol/exec-files.ts'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { formatPathUri, pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import type { MethodHandler, MethodOptions, MethodTable } from '../wire/method-table.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { WireError } from '../wire/wire-error.ts'
import { displayPath, isWithin } from './byte-path.ts'
import { copy } from './copy.ts'
import { toFileError, pathOf } from './file-error.ts'
import { FileHandles } from './file-handles.ts'
import { FilePolicy, type PolicyContext } from './file-policy.ts'
import { canonicalize, createDirectory, getMetadata, readDirectory } from './folders.ts'
import type { Reach } from './place.ts'
import { readFile } from './read-file.ts'
import { remove } from './remove.ts'
import { walk } from './walk.ts'
import { MissingWatch } from './watch-missing.ts'
import { writeFile } from './write-file.ts'

/** A change that a client is about to make to a file. Paths are native, as given. */
export interface FileChange {
  kind: 'write' | 'create-directory' | 'remove' | 'copy'
  path: string
  /** Only for `copy`. */
  fromPath?: string
  /** Whether a real path lies in what the call's own sandbox lets it write; without one nothing does. */
  isInside(place: string): boolean
}

export interface FileMethodOptions {
  policyContext: PolicyContext
  /**
   * Asked before each change; a rejection refuses it. Resolves with the real path that the change was allowed
   * for: it happens there or not at all, whatever became of the links on the way. Undefined: where the path
   * leads then. Default: all changes are let through.
   */
  allowChange?: (change: FileChange, connection: WireConnection) => Promise<string | undefined>
}

/** Puts the `fs/*` methods on a server's table. */
export function registerFileMethods(table: MethodTable, options: FileMethodOptions): void {
  const reachOf = (params: { sandbox?: SandboxObject; followSymlinks?: boolean }): Reach => ({
    policy: FilePolicy.of(params.sandbox, options.policyContext),
    followSymlinks: params.followSymlinks ?? true,
  })
  /** Where the change is to happen, and how it gets there. */
  const allow = async (
    { path: uri, ...p }: { path: string; sandbox?: SandboxObject; followSymlinks?: boolean },
    change: Pick<FileChange, 'kind' | 'fromPath'>,
    connection: WireConnection,
  ): Promise<{ path: BytePath; reach: Reach }> => {
    const path = pathOf(uri)
    const reach = reachOf(p)
    const isInside = (place: string) => liesInside(pathOfText(place), p.sandbox, reach.policy)
    const place = await options.allowChange?.({ ...change, path: shownPath(path), isInside }, connection)
    if (place === undefined) return { path, reach }
    return { path: pathOfText(place), reach: { ...reach, followSymlinks: false } }
  }
  const handlesOf = (connection: WireConnection) => connection.resource(FileHandles, () => new FileHandles())
  const watchOf = (connection: WireConnection) =>
    connection.resource(
      MissingWatch,
      () => new MissingWatch((watchId) => connection.notify('fs/missingChanged', { watchId })),
    )
  const register = <P>(
    name: string,
    decoder: Decoder<P>,
    handle: (...args: Parameters<MethodHandler<P>>) => Promise<unknown>,
    methodOptions?: MethodOptions,
  ) =>
    table.register(
      `fs/${name}`,
      'filesystem',
      decoder,
      async (...args: Parameters<MethodHandler<P>>) => {
        try {
          return await handle(...args)
        } catch (error) {
          throw toFileError(error)
        }
      },
      methodOptions,
    )
  register('readFile', readFileParams, (p) => readFile(pathOf(p.path), reachOf(p)))
  register(
    'writeFile',
    writeFileParams,
    async (p, connection, content) => {
      const { path, reach } = await allow(p, { kind: 'write' }, connection)
      await writeFile(path, content, reach)
    },
    { bulkMember: 'dataBase64', isBulkOverWithAnswer: true },
  )
  register('createDirectory', createDirectoryParams, async (p, connection) => {
    const { path, reach } = await allow(p, { kind: 'create-directory' }, connection)
    await createDirectory(path, p.recursive, reach)
  })
  register('getMetadata', getMetadataParams, (p) => getMetadata(pathOf(p.path), reachOf(p)))
  register('canonicalize', canonicalizeParams, async (p) => ({
    path: formatPathUri(await canonicalize(pathOf(p.path), reachOf(p))),
  }))
  register('readDirectory', readDirectoryParams, async (p) => ({
    entries: await readDirectory(pathOf(p.path), reachOf(p)),
  }))
  register('walk', walkParams, (p) => walk(pathOf(p.path), p.options, reachOf(p)))
  register('remove', removeParams, async (p, connection) => {
    if (p.recursive && p.followSymlinks === false)
      throw new WireError('internal', 'recursive no-follow removal is unsupported')
    const { path, reach } = await allow(p, { kind: 'remove' }, connection)
    // What the client asks for; an allowed change goes without links on its way in any case.
    await remove(path, { ...p, refusesLinks: !p.followSymlinks }, reach)
  })
  register('copy', copyParams, async (p, connection) => {
    const source = pathOf(p.sourcePath)
    const to = { path: p.destinationPath, sandbox: p.sandbox }
    const destination = await allow(to, { kind: 'copy', fromPath: displayPath(source) }, connection)
    await copy(source, destination.path, p.recursive, { from: reachOf(p), to: destination.reach })
  })
  register('open', openParams, async (p, connection) => {
    const { path, reach } =
      p.mode === 'replace' ? await allow(p, { kind: 'write' }, connection) : { path: pathOf(p.path), reach: reachOf(p) }
    await handlesOf(connection).open(p.handleId, path, p.mode, reach)
    return { handleId: p.handleId }
  })
  register('readBlock', readBlockParams, (p, connection) => handlesOf(connection).read(p.handleId, p.offset, p.len))
  register(
    'writeBlock',
    writeBlockParams,
    (p, connection, content) => handlesOf(connection).write(p.handleId, p.offset, content),
    { bulkMember: 'chunk', isBulkOverWithAnswer: true },
  )
  register('close', closeHandleParams, (p, connection) => handlesOf(connection).close(p.handleId))
  register('watchMissing', watchMissingParams, async (p, connection) => ({
    watching: watchOf(connection).start(
      p.watchId,
      p.missing.map(pathOf),
      p.present === undefined ? null : pathOf(p.present),
    ),
  }))
}

/** A sandbox that walls nothing still names the folders that it is about. */
function liesInside(place: BytePath, sandbox: SandboxObject | undefined, policy: FilePolicy | null): boolean {
  if (policy) return policy.accessTo(place) === 'write'
  const folders = sandbox?.workspaceRoots ?? (sandbox?.cwd === undefined ? [] : [sandbox.cwd])
  return folders.some((folder) => isWithin(place, pathOf(folder)))
}

/** What is shown and decided about is the path itself or nothing: bytes that no text can hold are neither. */
function shownPath(path: BytePath): string {
  const text = displayPath(path)
  if (pathOfText(text) === path) return text
  throw new WireError(
    'invalidRequest',
    `${text}: the name is not UTF-8, so it cannot be shown to the owner; nothing was done`,
  )
}
