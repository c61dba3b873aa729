import { isUtf8 } from 'node:buffer'
import type { OutputStream } from '../../protocol/host-channel.ts'

/** Bytes of an unfinished character per stream. */
export type PendingBytes = Partial<Record<OutputStream, Uint8Array>>

/**
 * Turns interleaved output into readable text: each stream keeps its own unfinished character, bytes
 * that are not UTF-8 become U+FFFD and NUL becomes a visible U+2400.
 */
export class StreamText {
  /** True once something was shown that does not stand for itself. */
  isLossy = false
  private readonly pending = new Map<OutputStream, Buffer>()

  constructor(pending: PendingBytes = {}) {
    for (const [stream, bytes] of Object.entries(pending)) this.pending.set(stream as OutputStream, Buffer.from(bytes))
  }

  push(stream: OutputStream, bytes: Uint8Array): string {
    const before = this.pending.get(stream)
    const whole = before
      ? Buffer.concat([before, bytes])
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const cut = whole.length - unfinishedLength(whole)
    if (cut < whole.length) this.pending.set(stream, Buffer.from(whole.subarray(cut)))
    else this.pending.delete(stream)
    return this.show(whole.subarray(0, cut))
  }

  /** What is still unfinished, for a later {@link StreamText} to go on with. */
  unfinished(): PendingBytes {
    return Object.fromEntries(this.pending)
  }

  /** The streams ended: unfinished characters are shown as U+FFFD. */
  end(): string {
    const rest = [...this.pending.values()].map((bytes) => this.show(bytes)).join('')
    this.pending.clear()
    return rest
  }

  private show(bytes: Buffer): string {
    if (!isUtf8(bytes)) this.isLossy = true
    const text = bytes.toString('utf8')
    if (!text.includes('\0')) return text
    this.isLossy = true
    return text.replaceAll('\0', '\u2400')
  }
}

/** Length of a last UTF-8 sequence that is valid so far but not complete (0..3). */
export function unfinishedLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1
    return byte < 0xf5 && needed > back ? back : 0
  }
  return 0
}

/** Length of the continuation bytes at the start (0..3): the rest of a character cut off before. */
export function strayLength(bytes: Uint8Array): number {
  let length = 0
  while (length < Math.min(3, bytes.length) && ((bytes[length] as number) & 0xc0) === 0x80) length++
  return length
}
