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
import { formatPathUri } from '../../protocol/path-uri.ts'
import type { MethodHandler, MethodOptions, MethodTable } from '../wire/method-table.ts'
import type { WireConnection } from '../wire/wire-connection.ts'
import { displayPath } from './byte-path.ts'
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
}

export interface FileMethodOptions {
  policyContext: PolicyContext
  /** Asked before each change; a rejection refuses it. Default: all changes are let through. */
  allowChange?: (change: FileChange, connection: WireConnection) => Promise<void>
}

/** Puts the `fs/*` methods on a server's table. */
export function registerFileMethods(table: MethodTable, options: FileMethodOptions): void {
  const reachOf = (params: { sandbox?: SandboxObject; followSymlinks?: boolean }): Reach => ({
    policy: FilePolicy.of(params.sandbox, options.policyContext),
    followSymlinks: params.followSymlinks ?? true,
  })
  const allow = async (change: FileChange, connection: WireConnection) => options.allowChange?.(change, connection)
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
  const native = (uri: string) => displayPath(pathOf(uri))

  register('readFile', readFileParams, (p) => readFile(pathOf(p.path), reachOf(p)))
  register(
    'writeFile',
    writeFileParams,
    async (p, connection, content) => {
      const path = pathOf(p.path)
      await allow({ kind: 'write', path: native(p.path) }, connection)
      await writeFile(path, content, reachOf(p))
    },
    { bulkMember: 'dataBase64' },
  )
  register('createDirectory', createDirectoryParams, async (p, connection) => {
    const path = pathOf(p.path)
    await allow({ kind: 'create-directory', path: native(p.path) }, connection)
    await createDirectory(path, p.recursive, reachOf(p))
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
    const path = pathOf(p.path)
    await allow({ kind: 'remove', path: native(p.path) }, connection)
    await remove(path, p, reachOf(p))
  })
  register('copy', copyParams, async (p, connection) => {
    const [source, destination] = [pathOf(p.sourcePath), pathOf(p.destinationPath)]
    const change: FileChange = { kind: 'copy', path: native(p.destinationPath), fromPath: native(p.sourcePath) }
    await allow(change, connection)
    await copy(source, destination, p.recursive, reachOf(p))
  })
  register('open', openParams, async (p, connection) => {
    const path = pathOf(p.path)
    if (p.mode === 'replace') await allow({ kind: 'write', path: native(p.path) }, connection)
    await handlesOf(connection).open(p.handleId, path, p.mode, reachOf(p))
    return { handleId: p.handleId }
  })
  register('readBlock', readBlockParams, (p, connection) => handlesOf(connection).read(p.handleId, p.offset, p.len))
  register(
    'writeBlock',
    writeBlockParams,
    (p, connection, content) => handlesOf(connection).write(p.handleId, p.offset, content),
    { bulkMember: 'chunk' },
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
