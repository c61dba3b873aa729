/** The key of the responses proxy: read from stdin into one buffer, and never a string of its own. */
import { readSync } from 'node:fs'

const PREFIX = 'Bearer '
const BUFFER_BYTES = 1024

/** Reads up to `length` bytes at `offset` of `buffer`; 0 = the end. */
export type ReadBytes = (buffer: Buffer, offset: number, length: number) => number

export const readStdin: ReadBytes = (buffer, offset, length) => {
  for (;;) {
    try {
      return readSync(0, buffer, offset, length, null)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EOF') return 0
      // A terminal or pipe that another process made non-blocking.
      if (code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}

/**
 * The whole Authorization value as bytes. The owner wipes it with `fill(0)`; JavaScript strings cannot be
 * wiped, which is why the key never becomes one until a request is sent. Locking the memory is not
 * possible from Node.
 */
export class ApiKey {
  private constructor(private readonly header: Buffer) {}

  /**
   * Reads until a line end, the end of the input or 1016 bytes.
   * @throws Error when the key is empty, too long or has characters other than letters, digits, `_` and `-`
   */
  static read(read: ReadBytes = readStdin): ApiKey {
    const buffer = Buffer.alloc(BUFFER_BYTES)
    try {
      const start = buffer.write(PREFIX, 'latin1')
      const end = fillLine(buffer, start, read)
      const header = Buffer.from(buffer.subarray(0, trimLineEnd(buffer, start, end)))
      requireKeyCharacters(header, start)
      return new ApiKey(header)
    } finally {
      buffer.fill(0)
    }
  }

  /** The value of the Authorization header. Use it at once and keep no reference. */
  authorization(): string {
    return this.header.toString('latin1')
  }

  wipe(): void {
    this.header.fill(0)
  }

  toString(): string {
    return 'Bearer ••••'
  }
  toJSON(): string {
    return this.toString()
  }
}

function fillLine(buffer: Buffer, start: number, read: ReadBytes): number {
  let end = start
  while (end < buffer.length) {
    const count = read(buffer, end, buffer.length - end)
    if (count === 0) return end
    end += count
    if (buffer.subarray(end - count, end).includes(0x0a)) return buffer.indexOf(0x0a, start) + 1
  }
  throw new Error(`the key on stdin is too large; at most ${BUFFER_BYTES - PREFIX.length - 1} bytes fit`)
}

function trimLineEnd(buffer: Buffer, start: number, end: number): number {
  let last = end
  while (last > start && (buffer[last - 1] === 0x0a || buffer[last - 1] === 0x0d)) last--
  return last
}

function requireKeyCharacters(header: Buffer, start: number): void {
  if (header.length === start)
    throw new Error('no key on stdin; pipe it in, as in: printenv KEY | gatehouse responses-proxy')
  for (const byte of header.subarray(start))
    if (!/[A-Za-z0-9_-]/.test(String.fromCharCode(byte))) {
      header.fill(0)
      throw new Error('the key on stdin has a character other than letters, digits, "_" and "-"')
    }
}
