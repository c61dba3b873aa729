const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Decoded at a time from bytes: keeps the intermediate strings small and out of the old heap. */
const BLOCK_CHARS = 64 * 1024

/** The text is not standard base64 with padding. */
export class Base64Error extends Error {
  override readonly name = 'Base64Error'
}

/**
 * Standard base64 with padding, as it came off the wire: a short string, or for long content the bytes
 * of the message itself, so that megabytes never become a JavaScript string.
 */
export class Base64Text {
  constructor(private readonly source: string | Buffer) {}

  /** What decoding gives, in bytes; meaningless for invalid text. */
  get decodedBytes(): number {
    const { length } = this.source
    return (length / 4) * 3 - this.paddingChars()
  }

  /** @throws Base64Error */
  decode(): Buffer {
    const { source } = this
    this.checkFrame()
    const decoded = Buffer.allocUnsafe(this.decodedBytes)
    if (typeof source === 'string') return decodeInto(decoded, 0, source)
    for (let from = 0, at = 0; from < source.length; from += BLOCK_CHARS) {
      const block = source.toString('latin1', from, Math.min(source.length, from + BLOCK_CHARS))
      this.checkPadding(from, block)
      at += decodeInto(decoded.subarray(at, at + decodedLength(block)), from, block).length
    }
    return decoded
  }

  /**
   * Decodes piece by piece: at most `maxBytes` (rounded down to whole groups) at a time into a buffer
   * that is used again for the next piece.
   * @throws Base64Error
   */
  *blocks(maxBytes: number): Generator<Buffer> {
    this.checkFrame()
    const { source } = this
    const chars = Math.max(4, Math.floor(maxBytes / 3) * 4)
    const scratch = Buffer.allocUnsafe(Math.min((chars / 4) * 3, this.decodedBytes))
    for (let from = 0; from < source.length; from += chars) {
      const to = Math.min(source.length, from + chars)
      const size = decodedLength(sliceText(source, Math.max(from, to - 4), to)) + ((to - from - 4) / 4) * 3
      let at = 0
      for (let block = from; block < to; block += BLOCK_CHARS) {
        const text = sliceText(source, block, Math.min(to, block + BLOCK_CHARS))
        this.checkPadding(block, text)
        at += decodeInto(scratch.subarray(at, Math.min(size, at + decodedLength(text))), block, text).length
      }
      yield scratch.subarray(0, size)
    }
  }

  /** Length and place of the padding; the alphabet is checked while decoding. */
  private checkFrame(): void {
    const { length } = this.source
    if (length % 4 !== 0) throw new Base64Error(`Invalid padding: ${length} characters are no whole groups of 4`)
  }

  private checkPadding(offset: number, block: string): void {
    const end = offset + block.length
    if (end < this.source.length && block.endsWith('=')) throw new Base64Error(`Invalid symbol 61, offset ${end - 1}.`)
  }

  private paddingChars(): number {
    const { source } = this
    return decodedPadding(sliceText(source, Math.max(0, source.length - 2), source.length))
  }
}

function sliceText(source: string | Buffer, from: number, to: number): string {
  return typeof source === 'string' ? source.slice(from, to) : source.toString('latin1', from, to)
}

function decodedPadding(tail: string): number {
  return tail.endsWith('==') ? 2 : tail.endsWith('=') ? 1 : 0
}

function decodedLength(text: string): number {
  return (text.length / 4) * 3 - decodedPadding(text)
}

/** Node's decoder skips what it does not know and takes `-` and `_`; both are errors here. */
function decodeInto(target: Buffer, offset: number, text: string): Buffer {
  const written = target.write(text, 'base64')
  if (written === target.length && !text.includes('-') && !text.includes('_') && hasCleanEnd(text)) return target
  const wrong = /[^A-Za-z0-9+/]/.exec(text.replace(/={0,2}$/, ''))
  if (wrong) throw new Base64Error(`Invalid symbol ${text.charCodeAt(wrong.index)}, offset ${offset + wrong.index}.`)
  throw new Base64Error('Invalid last symbol: the padding hides bits that are not zero')
}

/** The bits that padding cuts off must be zero, or two texts would mean the same bytes. */
function hasCleanEnd(text: string): boolean {
  const padding = decodedPadding(text.slice(-2))
  if (padding === 0) return true
  const last = ALPHABET.indexOf(text.charAt(text.length - padding - 1))
  return padding === 1 ? (last & 3) === 0 : (last & 15) === 0
}

/** Length of the base64 text of `bytes` bytes. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}
