import type { SecureChannel } from './noise-handshake.ts'

/** Plaintext of one record. */
const RECORD_BYTES = 61_440
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const LENGTH_BYTES = 4
/** Records that came before their turn. */
const MAX_WAITING = 64
const MAX_WAITING_BYTES = 1024 * 1024
const MAX_SEQ = 0xffff_ffff

/**
 * Messages over records: each message behind its length, cut into records that are sealed and numbered. Records
 * may come in any order and twice; nothing is ever sent again.
 */
export class RecordChannel {
  private nextToSend = 0
  private nextToRead = 0
  private readonly waiting = new Map<number, Buffer>()
  private waitingBytes = 0
  private parts: Buffer[] = []
  private partBytes = 0
  /** Length of the message that is being read; undefined until it is known. */
  private wanted: number | undefined

  constructor(
    private readonly channel: SecureChannel,
    private readonly onMessage: (message: Buffer) => void,
  ) {}

  /** The records of one message. @throws RangeError when it is longer than any receiver takes */
  seal(message: Buffer): { seq: number; payload: Buffer }[] {
    if (message.length > MAX_MESSAGE_BYTES)
      throw new RangeError(`a message of ${message.length} bytes is over the limit of ${MAX_MESSAGE_BYTES} bytes`)
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32BE(message.length)
    const whole = Buffer.concat([length, message])
    const records: { seq: number; payload: Buffer }[] = []
    for (let at = 0; at < whole.length; at += RECORD_BYTES) {
      if (this.nextToSend > MAX_SEQ) throw new RangeError('the stream has no more numbers')
      const payload = this.channel.sending.encrypt(whole.subarray(at, at + RECORD_BYTES))
      records.push({ seq: this.nextToSend++, payload })
    }
    return records
  }

  /** @throws an Error when the stream cannot go on */
  receive(seq: number, payload: Buffer): void {
    if (seq < this.nextToRead || this.waiting.has(seq)) return
    if (seq - this.nextToRead > MAX_WAITING) throw new Error(`record ${seq} came while ${this.nextToRead} is missing`)
    this.waiting.set(seq, payload)
    this.waitingBytes += payload.length
    for (let record = this.takeNext(); record; record = this.takeNext()) this.open(record)
    if (this.waiting.size > MAX_WAITING || this.waitingBytes > MAX_WAITING_BYTES)
      throw new Error(`too many records wait for ${this.nextToRead}`)
  }

  private takeNext(): Buffer | undefined {
    const record = this.waiting.get(this.nextToRead)
    if (!record) return undefined
    this.waiting.delete(this.nextToRead++)
    this.waitingBytes -= record.length
    return record
  }

  private open(record: Buffer): void {
    const plaintext = this.channel.receiving.decrypt(record)
    if (plaintext.length > RECORD_BYTES) throw new Error(`a record of ${plaintext.length} bytes`)
    this.parts.push(plaintext)
    this.partBytes += plaintext.length
    while (this.takeMessage());
  }

  private takeMessage(): boolean {
    if (this.wanted === undefined) {
      if (this.partBytes < LENGTH_BYTES) return false
      this.wanted = this.cut(LENGTH_BYTES).readUInt32BE()
      if (this.wanted === 0 || this.wanted > MAX_MESSAGE_BYTES) throw new Error(`a message of ${this.wanted} bytes`)
    }
    if (this.partBytes < this.wanted) return false
    const message = this.cut(this.wanted)
    this.wanted = undefined
    this.onMessage(message)
    return true
  }

  private cut(sizeBytes: number): Buffer {
    const whole = this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts, this.partBytes)
    this.partBytes -= sizeBytes
    this.parts = this.partBytes === 0 ? [] : [whole.subarray(sizeBytes)]
    return whole.subarray(0, sizeBytes)
  }
}
