import { HIGH_WATER_BYTES, LOW_WATER_BYTES, type Carrier, type CarrierHandlers } from '../wire/carrier.ts'
import type { MessagePiece } from '../wire/message-piece.ts'
import type { SecureChannel } from './noise-handshake.ts'
import { RecordChannel } from './record-channel.ts'
import { formatRelayFrame } from './relay-frame.ts'

/** The socket that all streams share. `onSent` is called when the system has taken the frame, or never will. */
export type SendFrame = (frame: Buffer, onSent: () => void) => void

/** Messages of one stream that wait because nobody reads them now. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024

/** One stream of a rendezvous, after its handshake: messages in sealed records. */
export class RelayCarrier implements Carrier {
  readonly kind = 'JSON-RPC message'
  isCongested = false
  queuedBytes = 0
  private readonly records: RecordChannel
  private handlers: CarrierHandlers | undefined
  private isPaused = false
  private unread: Buffer[] = []
  private unreadBytes = 0
  /** Sends that wait for a message in parts. */
  private held: (() => void)[] | undefined
  private endReason: string | undefined

  /** @param onEnd called once; the other side has to be told unless the stream or the socket is gone anyway */
  constructor(
    readonly label: string,
    private readonly streamId: string,
    channel: SecureChannel,
    private readonly sendFrame: SendFrame,
    private readonly onEnd: () => void,
  ) {
    this.records = new RecordChannel(channel, (message) => this.read(message))
  }

  start(handlers: CarrierHandlers): void {
    this.handlers = handlers
    if (this.endReason !== undefined) return handlers.onClose(this.endReason)
    this.deliver()
  }

  /** A record of the stream. One that cannot be taken ends it. */
  receive(seq: number, payload: Buffer): void {
    if (this.endReason !== undefined) return
    try {
      this.records.receive(seq, payload)
    } catch (error) {
      this.close(`the stream is broken: ${(error as Error).message}`)
    }
  }

  sendText(text: string): void {
    this.send(Buffer.from(text))
  }

  sendFilled(sizeBytes: number, fill: (target: Buffer, offset: number) => void): void {
    const message = Buffer.allocUnsafeSlow(sizeBytes)
    fill(message, 0)
    this.send(message)
  }

  /** The length stands in front, so the whole has to be there before its first byte leaves. */
  async sendParts(pieces: AsyncIterable<MessagePiece>, last: MessagePiece): Promise<void> {
    if (this.held) await new Promise<void>((resolve) => this.held?.push(resolve))
    this.held = []
    try {
      const parts: Buffer[] = []
      for await (const piece of pieces) {
        if (this.endReason !== undefined) return
        parts.push(filled(piece))
      }
      this.sendNow(Buffer.concat([...parts, filled(last)]))
    } catch (error) {
      this.close(`a message could not be completed: ${(error as Error).message}`)
    } finally {
      const { held } = this
      this.held = undefined
      for (const send of held ?? []) send()
    }
  }

  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
    this.deliver()
  }

  close(reason: string): void {
    if (this.endReason !== undefined) return
    this.endReason = reason
    this.unread = []
    this.onEnd()
    this.handlers?.onClose(reason)
  }

  private send(message: Buffer): void {
    if (this.held) this.held.push(() => this.sendNow(message))
    else this.sendNow(message)
  }

  private sendNow(message: Buffer): void {
    if (this.endReason !== undefined) return
    let records
    try {
      records = this.records.seal(message)
    } catch (error) {
      return this.close((error as Error).message)
    }
    for (const { seq, payload } of records) {
      const frame = formatRelayFrame({ streamId: this.streamId, body: { kind: 'data', seq, payload } })
      this.queuedBytes += frame.length
      this.sendFrame(frame, () => this.sent(frame.length))
    }
    if (this.queuedBytes >= HIGH_WATER_BYTES) this.isCongested = true
  }

  private sent(sizeBytes: number): void {
    this.queuedBytes -= sizeBytes
    if (!this.isCongested || this.queuedBytes > LOW_WATER_BYTES) return
    this.isCongested = false
    if (this.endReason === undefined) this.handlers?.onDrained()
  }

  private read(message: Buffer): void {
    this.unread.push(message)
    this.unreadBytes += message.length
    this.deliver()
    if (this.unreadBytes > MAX_UNREAD_BYTES) throw new Error(`${this.unreadBytes} bytes are not read`)
  }

  private deliver(): void {
    if (!this.handlers) return
    while (!this.isPaused && this.unread.length > 0) {
      const message = this.unread.shift() as Buffer
      this.unreadBytes -= message.length
      this.handlers.onMessage(message)
    }
  }
}

function filled({ sizeBytes, fill }: MessagePiece): Buffer {
  const bytes = Buffer.allocUnsafeSlow(sizeBytes)
  fill(bytes, 0)
  return bytes
}
