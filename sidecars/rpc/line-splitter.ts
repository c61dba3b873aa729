import { isUtf8 } from 'node:buffer'
import type { TransportProblem } from './transport.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** The longest line accepted by default: 64 MiB, more than any message of ours. */
export const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024

export type Line = { text: string; bytes: number } | { problem: TransportProblem }

/**
 * Cuts a byte stream into lines of UTF-8 text.
 *
 * Only byte 0x0A ends a line (U+2028, U+2029 and U+0085 are ordinary characters); one carriage return
 * before it is dropped and blank lines are skipped. A line longer than `maxLineBytes` is skipped to its
 * end without being kept, and one that is not UTF-8 is dropped; both are reported in their place.
 */
export class LineSplitter {
  private parts: Buffer[] = []
  private sizeBytes = 0
  private isSkipping = false

  constructor(private readonly maxLineBytes = DEFAULT_MAX_LINE_BYTES) {}

  push(chunk: Uint8Array): Line[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const lines: Line[] = []
    let from = 0
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
      this.keep(bytes.subarray(from, at))
      const line = this.take()
      if (line) lines.push(line)
      from = at + 1
    }
    this.keep(bytes.subarray(from))
    return lines
  }

  /** The stream ended: what stands after the last line end, if anything. */
  end(): Line[] {
    const line = this.take()
    return line ? [line] : []
  }

  private keep(part: Buffer): void {
    if (part.length === 0) return
    this.sizeBytes += part.length
    // One byte of grace: the carriage return of a line of exactly maxLineBytes.
    if (this.sizeBytes > this.maxLineBytes + 1) {
      this.isSkipping = true
      this.parts = []
    } else this.parts.push(part)
  }

  private take(): Line | undefined {
    const { sizeBytes, isSkipping } = this
    const whole = this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts)
    this.parts = []
    this.sizeBytes = 0
    this.isSkipping = false
    const line = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole
    if (isSkipping || line.length > this.maxLineBytes) {
      const message = `a line of ${sizeBytes} bytes is over the limit of ${this.maxLineBytes} bytes and was skipped`
      return { problem: { code: 'message-too-long', message } }
    }
    if (line.length === 0) return undefined
    if (!isUtf8(line))
      return { problem: { code: 'not-utf8', message: `a line of ${line.length} bytes is not UTF-8 and was skipped` } }
    const text = line.toString('utf8')
    return text.trim() === '' ? undefined : { text, bytes: line.length }
  }
}
