const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Decoded at a time from bytes: keeps the intermediate strings small and out of the old heap. */
const BLOCK_CHARS = 64 * 1024
/** Of the other alphabet, which Node's decoder takes as well. */
const MINUS = 0x2d
const UNDERSCORE = 0x5f

/** The text is not standard base64 with padding. */
export class Base64Error extends Error {
  override readonly name = 'Base64Error'
}

/**
 * Standard base64 with padding, as it came off the wire: a short string, or for long content the bytes
 * of the message itself, so that megabytes never become a JavaScript string. To be decoded once.
 */
export class Base64Text {
  /** What decoding gives, in bytes; meaningless for invalid text. */
  readonly decodedBytes: number

  /** @param source bytes are given away: they are decoded where they stand, and what they were is gone then */
  constructor(private readonly source: string | Buffer) {
    const padding = decodedPadding(sliceText(source, Math.max(0, source.length - 2), source.length))
    this.decodedBytes = (source.length / 4) * 3 - padding
  }

  /** @throws Base64Error */
  decode(): Buffer {
    const steps = this.decodeInSteps()
    for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value
  }

  /**
   * Decodes a piece at every step, which takes well below a millisecond; returns the whole.
   * @throws Base64Error
   */
  *decodeInSteps(): Generator<void, Buffer, void> {
    const { source } = this
    this.checkFrame()
    if (typeof source === 'string') return decodeInto(Buffer.allocUnsafe(this.decodedBytes), 0, source)
    const decoded = source.subarray(0, this.decodedBytes)
    const isPlain = !source.includes(MINUS) && !source.includes(UNDERSCORE)
    for (let from = 0, at = 0; from < source.length; from += BLOCK_CHARS) {
      const block = source.toString('latin1', from, Math.min(source.length, from + BLOCK_CHARS))
      this.checkPadding(from, block)
      at += decodeInto(decoded.subarray(at, at + decodedLength(block)), from, block, isPlain).length
      yield
    }
    return decoded
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

/** Node's decoder skips what it does not know and takes `-` and `_`; both are errors here. `isPlain`: neither is there. */
function decodeInto(target: Buffer, offset: number, text: string, isPlain = false): Buffer {
  const written = target.write(text, 'base64')
  if (written === target.length && (isPlain || (!text.includes('-') && !text.includes('_'))) && hasCleanEnd(text))
    return target
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
