/**
 * Cuts output bytes into rows: at line feeds, and inside endless lines at a size that can still be
 * drawn. Works on bytes, so that a place in the output is a chunk and an offset in it, and reading can
 * start again from there.
 */
import type { ProcessChunkView } from '../../preload/api.ts'
import { plainText } from './plain-text.ts'

/** Longer lines continue on the next row. */
export const MAX_ROW_BYTES = 8 * 1024
const LINE_FEED = 0x0a

export interface OutputRow {
  text: string
  /** Some of the row came from standard error. */
  isError: boolean
  /** It continues the line of the row before. */
  continues: boolean
}

/** Where a row begins: `offset` bytes into chunk `seq`. */
export interface RowStart {
  seq: number
  offset: number
  continues: boolean
}

export class RowSplitter {
  private parts: Uint8Array[] = []
  private partBytes = 0
  private isError = false
  private start: RowStart | null = null
  private continues: boolean

  /** `onRow` gets each finished row with its place. `continues` says whether the first row continues a line. */
  constructor(
    private readonly onRow: (row: OutputRow, start: RowStart) => void,
    continues = false,
  ) {
    this.continues = continues
  }

  /** `from` skips bytes of the chunk that belong to rows before the place where reading began. */
  push({ seq, stream, bytes }: ProcessChunkView, from = 0): void {
    let at = from
    while (at < bytes.length) {
      this.start ??= { seq, offset: at, continues: this.continues }
      this.isError ||= stream === 'stderr'
      const room = MAX_ROW_BYTES - this.partBytes
      const lineFeed = bytes.subarray(at, at + room).indexOf(LINE_FEED)
      if (lineFeed >= 0) {
        this.take(bytes.subarray(at, at + lineFeed))
        this.finish(false)
        at += lineFeed + 1
      } else if (bytes.length - at < room) {
        this.take(bytes.subarray(at))
        return
      } else {
        const cut = characterBoundary(bytes, at, at + room)
        this.take(bytes.subarray(at, cut))
        this.finish(true)
        at = cut
      }
    }
  }

  /** The row that has begun but not ended; null when the output ends with a line feed. */
  unfinished(): OutputRow | null {
    return this.start === null ? null : this.draw(this.start.continues)
  }

  private take(part: Uint8Array): void {
    if (part.length === 0) return
    this.parts.push(part)
    this.partBytes += part.length
  }

  private finish(lineGoesOn: boolean): void {
    if (this.start) this.onRow(this.draw(this.start.continues), this.start)
    this.parts = []
    this.partBytes = 0
    this.isError = false
    this.start = null
    this.continues = lineGoesOn
  }

  private draw(continues: boolean): OutputRow {
    const decoder = new TextDecoder()
    const raw = this.parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode()
    return { text: plainText(raw), isError: this.isError, continues }
  }
}

/** The last place at or before `end` where no UTF-8 character is cut; `end` itself when none is near. */
function characterBoundary(bytes: Uint8Array, start: number, end: number): number {
  for (let at = end; at > Math.max(start, end - 4); at--) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at
  return end
}
