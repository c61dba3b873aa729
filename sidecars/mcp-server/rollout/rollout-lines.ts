/** Reads the lines of a rollout file with their places, without ever holding the whole file. */
import { isAscii } from 'node:buffer'
import { open } from 'node:fs/promises'

/** Read size; large, so that a file of 100 MB costs few system calls. */
const READ_BYTES = 1024 * 1024
/** A longer line is not read into memory; its place is reported. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024

export interface RolloutLine {
  offset: number
  /** Bytes without the line end. */
  byteLength: number
  /** Null for a line longer than MAX_LINE_BYTES. */
  text: string | null
  /** False for a last line without its line end: it may be torn. */
  ended: boolean
}

/** All lines from byte `from` to `to` (default: the end), in order. Throws the file system's error. */
export async function* readLines(path: string, from = 0, to = Number.MAX_SAFE_INTEGER): AsyncGenerator<RolloutLine[]> {
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    let parts: Buffer[] = []
    let lineStart = from
    let held = 0
    let at = from
    for (;;) {
      const wanted = Math.min(READ_BYTES, to - at)
      const { bytesRead } = await file.read(buffer, 0, wanted, at)
      if (bytesRead === 0) break
      const lines: RolloutLine[] = []
      let cut = 0
      // One text for all lines where characters are bytes, which in most files is everywhere.
      const ascii = isAscii(buffer.subarray(0, bytesRead)) ? buffer.toString('latin1', 0, bytesRead) : null
      for (let end = buffer.indexOf(10, 0); end !== -1 && end < bytesRead; end = buffer.indexOf(10, cut)) {
        const byteLength = held + end - cut
        const tooLong = byteLength > MAX_LINE_BYTES
        const text = tooLong
          ? null
          : ascii !== null && parts.length === 0
            ? ascii.slice(cut, end)
            : join(parts, buffer.subarray(cut, end))
        lines.push({ offset: lineStart, byteLength, text, ended: true })
        parts = []
        held = 0
        cut = end + 1
        lineStart = at + cut
      }
      const rest = bytesRead - cut
      if (rest > 0 && held <= MAX_LINE_BYTES) parts.push(Buffer.from(buffer.subarray(cut, bytesRead)))
      held += rest
      at += bytesRead
      if (lines.length > 0) yield lines
      // A file gives less than was asked for only at its end.
      if (bytesRead < wanted) break
    }
    if (held > 0)
      yield [
        {
          offset: lineStart,
          byteLength: held,
          text: held > MAX_LINE_BYTES ? null : join(parts, Buffer.alloc(0)),
          ended: false,
        },
      ]
  } finally {
    await file.close()
  }
}

function join(parts: Buffer[], last: Buffer): string {
  return parts.length === 0 ? last.toString('utf8') : Buffer.concat([...parts, last]).toString('utf8')
}
