import type { FileHandle } from 'node:fs/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { Base64Error, type Base64Text } from '../wire/base64-text.ts'
import { BulkResult } from '../wire/bulk-result.ts'
import type { Disposable } from '../wire/wire-connection.ts'
import { WireError } from '../wire/wire-error.ts'
import { osError } from './file-error.ts'
import { openForWriting, type Reach } from './place.ts'
import { openForReading, readPiece } from './read-file.ts'
import { truncate, writeAll } from './write-file.ts'

const MAX_HANDLES = 128
const MAX_HANDLE_ID_BYTES = 32
const MAX_BLOCK_BYTES = 1_048_576

interface OpenFile {
  file: FileHandle
  mode: 'read' | 'replace'
}

/** The files a connection has open by the names it gave them. They end with the connection. */
export class FileHandles implements Disposable {
  /** A name is taken from the moment its opening begins. */
  private readonly files = new Map<string, Promise<OpenFile>>()

  async open(handleId: string, path: BytePath, mode: 'read' | 'replace', reach: Reach): Promise<void> {
    requireShortId(handleId)
    if (this.files.has(handleId)) throw new WireError('invalidRequest', `file handle \`${handleId}\` already exists`)
    if (this.files.size >= MAX_HANDLES)
      throw new WireError('invalidRequest', `at most ${MAX_HANDLES} file handles may be open per connection`)
    const opening = openFile(path, mode, reach)
    this.files.set(handleId, opening)
    try {
      await opening
    } catch (error) {
      if (this.files.get(handleId) === opening) this.files.delete(handleId)
      throw error
    }
  }

  /** `fs/readBlock`: `eof` when the file ended before `lengthBytes` were together. */
  async read(handleId: string, offset: number, lengthBytes: number): Promise<BulkResult> {
    if (lengthBytes < 1 || lengthBytes > MAX_BLOCK_BYTES)
      throw new WireError('invalidRequest', `file read block length must be between 1 and ${MAX_BLOCK_BYTES}`)
    const { file, mode } = await this.find(handleId)
    if (mode !== 'read') throw osError('EBADF')
    const block = await readPiece(file, offset, lengthBytes)
    return new BulkResult('{"chunk":"', block, `","eof":${block.length < lengthBytes}}`)
  }

  async write(handleId: string, offset: number, content: Base64Text): Promise<void> {
    const bytes = decodeChunk(content)
    if (bytes.length < 1 || bytes.length > MAX_BLOCK_BYTES)
      throw new WireError('invalidRequest', `file write block length must be between 1 and ${MAX_BLOCK_BYTES}`)
    const { file, mode } = await this.find(handleId)
    if (mode !== 'replace') throw osError('EBADF')
    await writeAll(file, bytes, offset)
  }

  /** An unknown name is no error. */
  async close(handleId: string): Promise<void> {
    requireShortId(handleId)
    const opening = this.files.get(handleId)
    if (!opening) return
    this.files.delete(handleId)
    await closeOpened(opening)
  }

  dispose(): void {
    for (const opening of this.files.values()) void closeOpened(opening)
    this.files.clear()
  }

  private async find(handleId: string): Promise<OpenFile> {
    requireShortId(handleId)
    const opening = this.files.get(handleId)
    if (!opening) throw new WireError('notFound', `unknown file handle \`${handleId}\``)
    return opening
  }
}

function requireShortId(handleId: string): void {
  if (Buffer.byteLength(handleId) > MAX_HANDLE_ID_BYTES)
    throw new WireError('invalidRequest', `file handle ID must not exceed ${MAX_HANDLE_ID_BYTES} bytes`)
}

async function openFile(path: BytePath, mode: 'read' | 'replace', reach: Reach): Promise<OpenFile> {
  if (mode === 'read') return { file: await openForReading(path, reach), mode }
  const file = await openForWriting(path, reach)
  try {
    await truncate(file)
    return { file, mode }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function closeOpened(opening: Promise<OpenFile>): Promise<void> {
  const opened = await opening.catch(() => null)
  // The content is where the system wants it; what a close reports now nobody can act on.
  await opened?.file.close().catch(() => {})
}

function decodeChunk(content: Base64Text): Buffer {
  if (content.decodedBytes > MAX_BLOCK_BYTES + 2)
    throw new WireError('invalidRequest', `file write block length must be between 1 and ${MAX_BLOCK_BYTES}`)
  try {
    return content.decode()
  } catch (error) {
    if (!(error instanceof Base64Error)) throw error
    throw new WireError('invalidParams', error.message)
  }
}
