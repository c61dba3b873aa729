/** Reads a rollout file as large pieces of text, for readers that do not need the places of lines. */
import { isAscii } from 'node:buffer'
import { open, type FileHandle } from 'node:fs/promises'

const READ_BYTES = 2 * 1024 * 1024
/** Room before what is read, for the start of a line that the last read did not finish. */
const HEAD_BYTES = 64 * 1024

export interface TextChunk {
  text: string
  /** The same, where each character is one byte; good until the next chunk is asked for. */
  bytes: Buffer | null
}

/** Whole lines, many at a time; the last piece may end without a line end. Throws the file system's error. */
export async function* readTextChunks(path: string): AsyncGenerator<TextChunk> {
  const file = await open(path, 'r')
  try {
    let current = Buffer.allocUnsafe(HEAD_BYTES + READ_BYTES)
    let other = Buffer.allocUnsafe(HEAD_BYTES + READ_BYTES)
    let begun: Buffer = Buffer.alloc(0)
    let at = 0
    let next = readAt(file, current, at)
    for (;;) {
      const bytesRead = await next
      if (bytesRead === 0) break
      at += bytesRead
      // The next piece is read while this one is worked on.
      next = readAt(file, other, at)
      const bytes = behind(begun, current, bytesRead)
      const cut = bytes.lastIndexOf(10) + 1
      begun = Buffer.from(bytes.subarray(cut))
      if (cut > 0) yield chunkOf(bytes.subarray(0, cut))
      ;[current, other] = [other, current]
    }
    if (begun.length > 0) yield chunkOf(begun)
  } finally {
    await file.close()
  }
}

function readAt(file: FileHandle, buffer: Buffer, at: number): Promise<number> {
  const reading = file.read(buffer, HEAD_BYTES, READ_BYTES, at).then(({ bytesRead }) => bytesRead)
  reading.catch(() => undefined) // Whoever waits for it learns of it; a reader that stopped does not.
  return reading
}

/** What was begun with what was read right behind it, without copying the latter where there is room. */
function behind(begun: Buffer, buffer: Buffer, bytesRead: number): Buffer {
  const read = buffer.subarray(HEAD_BYTES, HEAD_BYTES + bytesRead)
  if (begun.length > HEAD_BYTES) return Buffer.concat([begun, read])
  begun.copy(buffer, HEAD_BYTES - begun.length)
  return buffer.subarray(HEAD_BYTES - begun.length, HEAD_BYTES + bytesRead)
}

const chunkOf = (bytes: Buffer): TextChunk =>
  isAscii(bytes) ? { text: bytes.toString('latin1'), bytes } : { text: bytes.toString('utf8'), bytes: null }
