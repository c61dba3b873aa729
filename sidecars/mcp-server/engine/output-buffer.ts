import { TextDecoder } from 'node:util'

/**
 * What a process has printed, bounded: the first and the last half of the limit are kept, the middle is
 * dropped and counted. Text is decoded without ever splitting a character.
 */
export class OutputBuffer {
  private head: string[] = []
  private tail: string[] = []
  private headLength = 0
  private tailLength = 0
  private dropped = 0
  private readonly decoders = new Map<string, TextDecoder>()

  /** @param limit characters kept in all; 1 MiB is the reference's bound for one process */
  constructor(private readonly limit = 1024 * 1024) {}

  /** Takes bytes of one stream and returns the text they completed. */
  push(stream: string, bytes: Uint8Array): string {
    let decoder = this.decoders.get(stream)
    if (!decoder) this.decoders.set(stream, (decoder = new TextDecoder('utf-8')))
    const text = decoder.decode(bytes, { stream: true })
    this.keep(text)
    return text
  }

  /** Ends all streams; returns what an incomplete last character gives. */
  finish(): string {
    let rest = ''
    for (const decoder of this.decoders.values()) rest += decoder.decode()
    this.decoders.clear()
    this.keep(rest)
    return rest
  }

  get text(): string {
    const gap = this.dropped === 0 ? '' : `\n[… ${this.dropped} characters omitted …]\n`
    return this.head.join('') + gap + this.tail.join('')
  }

  /** Characters that went through, kept or not. */
  get totalLength(): number {
    return this.headLength + this.tailLength + this.dropped
  }

  private keep(text: string): void {
    if (text === '') return
    const half = this.limit / 2
    const room = half - this.headLength
    if (room > 0) {
      const part = text.slice(0, room)
      this.head.push(part)
      this.headLength += part.length
      text = text.slice(part.length)
      if (text === '') return
    }
    this.tail.push(text)
    this.tailLength += text.length
    while (this.tailLength - this.tail[0]!.length >= half) {
      const gone = this.tail.shift()!
      this.tailLength -= gone.length
      this.dropped += gone.length
    }
    const excess = this.tailLength - half
    if (excess > 0) {
      this.tail[0] = this.tail[0]!.slice(excess)
      this.tailLength -= excess
      this.dropped += excess
    }
  }
}
