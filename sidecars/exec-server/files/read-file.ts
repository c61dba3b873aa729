import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { BulkResult } from '../wire/bulk-result.ts'
import { WireError } from '../wire/wire-error.ts'
import { displayPath } from './byte-path.ts'
import { factsOf, locateReadable, withPlace, type Reach } from './place.ts'

/** The reference's limit for one fs/readFile. */
export const MAX_READ_BYTES = 536_870_912
/** Up to this size a file is read before the answer begins. */
const WHOLE_FILE_BYTES = 4 * 1024 * 1024
/** Piece of a larger file; divisible by 3, so that pieces of base64 join without padding. */
const PIECE_BYTES = 3 * 512 * 1024

/**
 * Opens a regular file for reading. Anything else is refused before it is opened: opening a named pipe
 * would steal from whoever uses it, and a device may never end.
 */
export async function openForReading(path: BytePath, reach: Reach): Promise<FileHandle> {
  return withPlace(locateReadable(path, reach), async (place) => {
    if (!(await factsOf(place)).isFile()) throw notAFile(path)
    const file = await open(place.fsPath, constants.O_RDONLY | constants.O_NONBLOCK)
    // A direct path may have been exchanged since.
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw notAFile(path)
  })
}

/** `fs/readFile` -> `{dataBase64}`. */
export async function readFile(path: BytePath, reach: Reach): Promise<BulkResult> {
  const file = await openForReading(path, reach)
  try {
    const { size } = await file.stat()
    if (size > MAX_READ_BYTES)
      throw new WireError('invalidRequest', `file is too large to read: limit is ${MAX_READ_BYTES} bytes`)
    // Files of /proc say 0 and have content: those are read to their end like any small file.
    if (size > WHOLE_FILE_BYTES) return new BulkResult('{"dataBase64":"', piecesOf(file, size), '"}')
    const content = await readToEnd(file)
    await file.close()
    return new BulkResult('{"dataBase64":"', content, '"}')
  } catch (error) {
    await file.close()
    throw error
  }
}

async function readToEnd(file: FileHandle): Promise<Buffer> {
  const content = await file.readFile()
  if (content.length > MAX_READ_BYTES)
    throw new WireError('invalidRequest', `file is too large to read: limit is ${MAX_READ_BYTES} bytes`)
  return content
}

/** The file as it is found while it is sent, up to the size it had; closes the file at the end. */
async function* piecesOf(file: FileHandle, sizeBytes: number): AsyncGenerator<Buffer, void, void> {
  // Each piece is sent before the next one is asked for.
  const memory = Buffer.allocUnsafe(Math.min(PIECE_BYTES, sizeBytes))
  try {
    for (let offset = 0; offset < sizeBytes;) {
      const piece = await readPiece(file, offset, Math.min(PIECE_BYTES, sizeBytes - offset), memory)
      if (piece.length > 0) yield piece
      if (piece.length < Math.min(PIECE_BYTES, sizeBytes - offset)) return
      offset += piece.length
    }
  } finally {
    await file.close()
  }
}

/** Reads until `lengthBytes` are there or the file ends; one read(2) may bring less. */
export async function readPiece(
  file: FileHandle,
  offset: number,
  lengthBytes: number,
  piece = Buffer.allocUnsafe(lengthBytes),
): Promise<Buffer> {
  let filled = 0
  while (filled < lengthBytes) {
    const { bytesRead } = await file.read(piece, filled, lengthBytes - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return piece.subarray(0, filled)
}

function notAFile(path: BytePath): WireError {
  return new WireError('invalidRequest', `path \`${displayPath(path)}\` is not a file`)
}
