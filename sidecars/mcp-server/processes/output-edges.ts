import type { OutputChunk } from '../../exec-server/client/index.ts'
import { START_OF_OUTPUT, type OutputCursor } from './output-cursor.ts'
import { StreamText, strayLength } from './stream-text.ts'

/**
 * What a result shows of a long output. A quarter in front says what began, the rest says how it
 * ended; together 24 KiB, about 8,000 tokens, below what the known clients cut themselves.
 */
export const HEAD_BYTES = 8 * 1024
export const TAIL_BYTES = 16 * 1024

export interface ShownOutput {
  head: string
  /** Null when nothing was left out; then `head` is everything. */
  omitted: { bytes: number; from: OutputCursor } | null
  tail: string
  /** Some bytes are shown as U+FFFD or U+2400. */
  isLossy: boolean
}

/** Keeps the first and the last bytes of one process's output, in order of arrival. */
export class OutputEdges {
  totalBytes = 0
  private readonly head: OutputChunk[] = []
  private headBytes = 0
  private headEnd: OutputCursor = START_OF_OUTPUT
  private readonly tail: OutputChunk[] = []
  private tailBytes = 0

  constructor(
    private readonly headLimitBytes = HEAD_BYTES,
    private readonly tailLimitBytes = TAIL_BYTES,
  ) {}

  push(chunk: OutputChunk): void {
    this.totalBytes += chunk.bytes.length
    const room = this.headLimitBytes - this.headBytes
    const forHead = chunk.bytes.subarray(0, room)
    if (forHead.length > 0) {
      this.head.push({ ...chunk, bytes: forHead })
      this.headBytes += forHead.length
      const isWhole = forHead.length === chunk.bytes.length
      this.headEnd = isWhole
        ? { afterSeq: chunk.seq, offset: 0, pending: {} }
        : { afterSeq: chunk.seq - 1, offset: forHead.length, pending: {} }
    }
    const forTail = chunk.bytes.subarray(forHead.length)
    if (forTail.length > 0) this.keepTail({ ...chunk, bytes: forTail })
  }

  show(): ShownOutput {
    const text = new StreamText()
    const head = this.head.map(({ stream, bytes }) => text.push(stream, bytes)).join('')
    if (this.headBytes + this.tailBytes === this.totalBytes && this.tailBytes <= this.tailLimitBytes) {
      const rest = this.tail.map(({ stream, bytes }) => text.push(stream, bytes)).join('')
      return { head: head + rest + text.end(), omitted: null, tail: '', isLossy: text.isLossy }
    }
    const heldBack = text.unfinished()
    const tail = this.showTail()
    const shownBytes = this.headBytes - sumLengths(Object.values(heldBack)) + tail.bytes
    return {
      head,
      omitted: { bytes: this.totalBytes - shownBytes, from: { ...this.headEnd, pending: heldBack } },
      tail: tail.text,
      isLossy: text.isLossy || tail.isLossy,
    }
  }

  private keepTail(chunk: OutputChunk): void {
    // A copy: a subarray would keep the whole message it came in alive.
    const bytes = Buffer.from(chunk.bytes.subarray(Math.max(0, chunk.bytes.length - this.tailLimitBytes)))
    if (bytes.length < chunk.bytes.length) {
      this.tail.length = 0
      this.tailBytes = 0
    }
    this.tail.push({ ...chunk, bytes })
    this.tailBytes += bytes.length
    while (this.tailBytes - (this.tail[0]?.bytes.length ?? 0) >= this.tailLimitBytes)
      this.tailBytes -= this.tail.shift()?.bytes.length ?? 0
  }

  private showTail(): { text: string; bytes: number; isLossy: boolean } {
    const text = new StreamText()
    const begun = new Set<string>()
    let skip = Math.max(0, this.tailBytes - this.tailLimitBytes)
    let shownBytes = 0
    let shown = ''
    for (const { stream, bytes } of this.tail) {
      const kept = bytes.subarray(skip)
      skip = 0
      // The rest of a character whose start was left out is left out with it.
      const whole = begun.has(stream) ? kept : kept.subarray(strayLength(kept))
      if (kept.length > 0) begun.add(stream)
      shownBytes += whole.length
      shown += text.push(stream, whole)
    }
    return { text: shown + text.end(), bytes: shownBytes, isLossy: text.isLossy }
  }
}

function sumLengths(parts: (Uint8Array | undefined)[]): number {
  return parts.reduce((sum, part) => sum + (part?.length ?? 0), 0)
}
