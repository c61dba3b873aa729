import { randomUUID } from 'node:crypto'
import { object } from '../../protocol/decode.ts'
import {
  canonicalizeResult,
  fileMetadata,
  openResult,
  readBlockResult,
  readDirectoryResult,
  readFileResult,
  walkResult,
  watchMissingResult,
  type FileMetadata,
  type WalkOptions,
  type WalkResult,
} from '../../protocol/exec-files.ts'
import { EXEC_ERROR } from '../../protocol/exec-process.ts'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { toPathUri } from '../../protocol/path-uri.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { ExecLink } from './exec-link.ts'
import type { ExecSession } from './exec-session.ts'

export interface FileCall {
  sandbox?: SandboxObject
  /** False makes any symlink on the path an error. Default true. */
  followSymlinks?: boolean
  signal?: AbortSignal
}

/** Content up to this size travels in one message; larger files go block by block. */
const WHOLE_FILE_BYTES = 4 * 1024 * 1024
const BLOCK_BYTES = 1024 * 1024

const nothing = object({})

/**
 * Files on the exec server's machine. Paths are absolute native paths or `file:` URIs. A missing file
 * rejects with an RpcError of wire code -32004 (`isNotFound`).
 */
export class RemoteFiles {
  private lastWatchId = 0

  constructor(private readonly session: (signal?: AbortSignal) => Promise<ExecSession>) {}

  async read(path: string, call: FileCall = {}): Promise<Uint8Array> {
    const { size } = await this.metadata(path, call)
    if (size > WHOLE_FILE_BYTES) return this.readBlocks(path, call)
    const { dataBase64 } = await this.call(
      'fs/readFile',
      { path: toPathUri(path), ...common(call) },
      readFileResult,
      call,
    )
    return Buffer.from(dataBase64, 'base64')
  }

  /** Creates or replaces a file. Its folder must exist. */
  async write(path: string, bytes: Uint8Array, call: FileCall = {}): Promise<void> {
    if (bytes.length > WHOLE_FILE_BYTES && call.followSymlinks !== false) return this.writeBlocks(path, bytes, call)
    const dataBase64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    await this.call('fs/writeFile', { path: toPathUri(path), dataBase64, ...common(call) }, nothing, call)
  }

  async createDirectory(path: string, call: FileCall & { recursive?: boolean } = {}): Promise<void> {
    const params = { path: toPathUri(path), recursive: call.recursive ?? true, ...common(call) }
    await this.call('fs/createDirectory', params, nothing, call)
  }

  /** Follows links, but tells that the entry itself is one. */
  metadata(path: string, call: FileCall = {}): Promise<FileMetadata> {
    return this.call('fs/getMetadata', { path: toPathUri(path), ...common(call) }, fileMetadata, call)
  }

  /** The real path, as a `file:` URI. */
  async canonicalize(path: string, call: FileCall = {}): Promise<string> {
    const params = { path: toPathUri(path), sandbox: call.sandbox }
    return (await this.call('fs/canonicalize', params, canonicalizeResult, call)).path
  }

  async list(
    path: string,
    call: FileCall = {},
  ): Promise<{ fileName: string; isDirectory: boolean; isFile: boolean }[]> {
    const params = { path: toPathUri(path), sandbox: call.sandbox }
    return (await this.call('fs/readDirectory', params, readDirectoryResult, call)).entries
  }

  walk(path: string, options: WalkOptions, call: FileCall = {}): Promise<WalkResult> {
    return this.call('fs/walk', { path: toPathUri(path), options, sandbox: call.sandbox }, walkResult, call)
  }

  /** `force` (default true) makes a missing path no error; `recursive` (default true) takes folders with content. */
  async remove(path: string, call: FileCall & { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    const { recursive = true, force = true } = call
    await this.call('fs/remove', { path: toPathUri(path), recursive, force, ...common(call) }, nothing, call)
  }

  async copy(from: string, to: string, call: FileCall & { recursive?: boolean } = {}): Promise<void> {
    const params = {
      sourcePath: toPathUri(from),
      destinationPath: toPathUri(to),
      recursive: call.recursive ?? false,
      sandbox: call.sandbox,
    }
    await this.call('fs/copy', params, nothing, call)
  }

  /** Opens a file for positional reading, or (`replace`) creates or empties it for positional writing. */
  async open(path: string, mode: 'read' | 'replace', call: FileCall = {}): Promise<RemoteFile> {
    const session = await this.session(call.signal)
    const link = await session.liveLink(call.signal)
    const handleId = randomUUID().replaceAll('-', '')
    await link.request('fs/open', { handleId, path: toPathUri(path), mode, sandbox: call.sandbox }, openResult, call)
    return new RemoteFile(link, handleId)
  }

  /**
   * Calls `onChange` once when one of the missing paths (or a missing folder above it) appears, or
   * `present` disappears. False: that is the case already, or the server does not watch. One watch per
   * connection; a new one replaces it, a lost connection ends it.
   */
  async watchMissing(missing: string[], present: string | null, onChange: () => void): Promise<boolean> {
    const session = await this.session()
    const watchId = ++this.lastWatchId
    session.watches.clear()
    session.watches.set(watchId, () => {
      session.watches.delete(watchId)
      onChange()
    })
    const params = {
      watchId,
      missing: missing.map(toPathUri),
      present: present === null ? null : toPathUri(present),
    }
    const { watching } = await session.call('fs/watchMissing', params, watchMissingResult)
    if (!watching) session.watches.delete(watchId)
    return watching
  }
  private async readBlocks(path: string, call: FileCall): Promise<Uint8Array> {
    const file = await this.open(path, 'read', call)
    try {
      const blocks: Uint8Array[] = []
      for (let offset = 0; ;) {
        const { bytes, eof } = await file.read(offset, BLOCK_BYTES)
        blocks.push(bytes)
        offset += bytes.length
        if (eof) return Buffer.concat(blocks)
      }
    } finally {
      await file.close()
    }
  }

  private async writeBlocks(path: string, bytes: Uint8Array, call: FileCall): Promise<void> {
    const file = await this.open(path, 'replace', call)
    try {
      for (let offset = 0; offset < bytes.length; offset += BLOCK_BYTES)
        await file.write(offset, bytes.subarray(offset, offset + BLOCK_BYTES))
    } finally {
      await file.close()
    }
  }

  private async call<R>(method: string, params: unknown, decoder: (v: unknown, p: string) => R, call: FileCall) {
    const session = await this.session(call.signal)
    return session.call(method, params, decoder, { signal: call.signal })
  }
}

/** An open file. It belongs to its connection: when that is lost, so is the file, and calls say so. */
export class RemoteFile {
  constructor(
    private readonly link: ExecLink,
    private readonly handleId: string,
  ) {}

  /** At most 1 MiB; `eof` when fewer bytes were there than asked for. */
  async read(offset: number, lengthBytes: number): Promise<{ bytes: Uint8Array; eof: boolean }> {
    const params = { handleId: this.handleId, offset, len: lengthBytes }
    const { chunk, eof } = await this.link.request('fs/readBlock', params, readBlockResult)
    return { bytes: Buffer.from(chunk, 'base64'), eof }
  }

  /** 1 byte to 1 MiB; what lies between the end and `offset` becomes zeros. */
  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    await this.link.request('fs/writeBlock', { handleId: this.handleId, offset, chunk }, nothing)
  }

  async close(): Promise<void> {
    if (!this.link.isClosed) await this.link.request('fs/close', { handleId: this.handleId }, nothing)
  }
}

/** True for the error that says a file, folder or handle does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof RpcError && error.wireCode === EXEC_ERROR.notFound
}

const common = (call: FileCall) => ({ followSymlinks: call.followSymlinks ?? true, sandbox: call.sandbox })
