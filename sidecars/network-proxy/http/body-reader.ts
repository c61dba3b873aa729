/** Where one message body ends, whatever its framing. */
import { ChunkedReader } from './chunked.ts'
import type { Fields, Framing } from './fields.ts'

export class BodyReader {
  done: boolean
  private remaining: number
  private readonly chunks: ChunkedReader | undefined

  constructor(
    readonly kind: Framing['kind'],
    lengthBytes = 0,
  ) {
    this.done = kind === 'none'
    this.remaining = lengthBytes
    this.chunks = kind === 'chunked' ? new ChunkedReader() : undefined
  }

  static of(framing: Framing): BodyReader {
    return new BodyReader(framing.kind, framing.kind === 'length' ? framing.bytes : 0)
  }

  get trailers(): Fields | undefined {
    return this.chunks?.trailers
  }

  /**
   * Reads from `bytes` at `from` and gives each run of body data to `onData`. Returns the offset of the
   * first byte after the body. @throws MalformedHttp
   */
  read(bytes: Buffer, from: number, onData: (start: number, end: number) => void): number {
    if (this.done) return from
    if (this.chunks) {
      const at = this.chunks.read(bytes, from, onData)
      this.done = this.chunks.trailers !== undefined
      return at
    }
    const end = this.kind === 'close' ? bytes.length : Math.min(bytes.length, from + this.remaining)
    if (end > from) onData(from, end)
    if (this.kind === 'length') {
      this.remaining -= end - from
      this.done = this.remaining === 0
    }
    return end
  }

  /** The sender ended its side. True when that is how this body ends; false: it was cut off. */
  endOfStream(): boolean {
    if (this.kind === 'close') this.done = true
    return this.done
  }
}
