/** What a client has sent and nobody has read yet. */
import { MAX_HEAD_BYTES } from './fields.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const CARRIAGE_RETURN = 0x0d
const LINE_FEED = 0x0a

/** A head of more than 64 KiB. */
export class HeadTooLarge extends Error {
  constructor() {
    super('the request head is larger than 64 KiB')
    this.name = 'HeadTooLarge'
  }
}

export class ReceivedBytes {
  private bytes: Buffer | undefined

  push(bytes: Buffer): void {
    this.bytes = this.bytes ? Buffer.concat([this.bytes, bytes]) : bytes
  }

  get length(): number {
    return this.bytes?.length ?? 0
  }

  /** Everything; nothing is left. */
  take(): Buffer | undefined {
    const { bytes } = this
    this.bytes = undefined
    return bytes
  }

  /** The next head without its empty line, when it is complete. @throws HeadTooLarge */
  takeHead(): string | undefined {
    const { bytes } = this
    if (bytes === undefined) return undefined
    let start = 0
    // Empty lines before a request come from old clients that end a body with one (RFC 9112, 2.2).
    while (bytes[start] === CARRIAGE_RETURN && bytes[start + 1] === LINE_FEED) start += 2
    const end = bytes.indexOf(HEAD_END, start)
    if ((end < 0 ? bytes.length : end) - start > MAX_HEAD_BYTES) throw new HeadTooLarge()
    const next = end < 0 ? start : end + HEAD_END.length
    this.bytes = next < bytes.length ? bytes.subarray(next) : undefined
    return end < 0 ? undefined : bytes.toString('latin1', start, end)
  }
}
