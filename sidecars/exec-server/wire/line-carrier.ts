import type { Readable, Writable } from 'node:stream'
import type { Carrier, CarrierHandlers } from './carrier.ts'
import type { Fill, MessagePiece } from './message-piece.ts'
import { MessageWriter, type Framing } from './message-writer.ts'
import { MAX_MESSAGE_BYTES } from './websocket-reader.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09

export const lineFraming: Framing = {
  tail: Buffer.from('\n'),
  headBytes: () => 0,
  writeHead() {},
}

/**
 * One JSON object per line over any pair of byte streams. Only byte 0x0A ends a line; blank lines are
 * skipped. Takes ownership of both streams.
 */
export class LineCarrier implements Carrier {
  readonly kind = 'JSON-RPC message'
  private readonly writer: MessageWriter
  private handlers: CarrierHandlers | undefined
  private parts: Buffer[] = []
  private partBytes = 0
  private isPaused = false
  private isTooLong = false
  private endReason: string | undefined

  constructor(
    readonly label: string,
    private readonly input: Readable,
    private readonly output: Writable,
  ) {
    this.writer = new MessageWriter(output, lineFraming, () => this.handlers?.onDrained())
    input.on('error', (error) => this.close(`reading failed: ${error.message}`))
    output.on('error', (error) => this.close(`writing failed: ${error.message}`))
    output.on('close', () => this.close('the client stopped reading'))
  }

  get queuedBytes(): number {
    return this.writer.queuedBytes
  }
  get isCongested(): boolean {
    return this.writer.isCongested
  }

  start(handlers: CarrierHandlers): void {
    this.handlers = handlers
    if (this.endReason !== undefined) return handlers.onClose(this.endReason)
    this.input.on('data', (chunk: Buffer) => this.receive(chunk))
    this.input.on('end', () => this.close('the client closed the connection'))
    this.input.on('close', () => this.close('the client closed the connection'))
    // Whoever read the first line paused it, and a listener alone does not undo that.
    if (!this.isPaused) this.input.resume()
  }

  sendText(text: string): void {
    this.writer.sendText(text)
  }
  sendFilled(sizeBytes: number, fill: Fill): void {
    this.writer.sendFilled(sizeBytes, fill)
  }
  async sendParts(pieces: AsyncIterable<MessagePiece>, last: MessagePiece): Promise<void> {
    try {
      await this.writer.sendParts(pieces, last)
    } catch (error) {
      this.close(`a message could not be completed: ${(error as Error).message}`)
    }
  }
  pause(): void {
    this.isPaused = true
    this.input.pause()
  }
  resume(): void {
    this.isPaused = false
    const { parts } = this
    this.parts = []
    this.partBytes = 0
    if (parts.length > 0) this.receive(Buffer.concat(parts))
    if (!this.isPaused) this.input.resume()
  }

  close(reason: string): void {
    if (this.endReason !== undefined) return
    this.writer.flush()
    this.endReason = reason
    this.writer.end()
    // `end` lets a last answer leave; nothing is read any more.
    this.input.destroy()
    if ((this.output as unknown) !== this.input) this.output.end()
    this.handlers?.onClose(reason)
  }

  private receive(chunk: Buffer): void {
    this.writer.batch(() => this.cut(chunk))
  }

  private cut(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at >= 0 && !this.isPaused; at = chunk.indexOf(LINE_FEED, from)) {
      this.keep(chunk.subarray(from, at))
      from = at + 1
      this.takeLine()
    }
    // The stream uses its memory again: what stays is copied.
    if (from < chunk.length) this.keep(Buffer.from(chunk.subarray(from)))
  }

  private keep(part: Buffer): void {
    this.partBytes += part.length
    if (this.partBytes > MAX_MESSAGE_BYTES && !this.isPaused) {
      this.isTooLong = true
      this.parts = []
    } else this.parts.push(part)
  }

  private takeLine(): void {
    const { parts, isTooLong, partBytes } = this
    this.parts = []
    this.partBytes = 0
    this.isTooLong = false
    if (isTooLong)
      return this.handlers?.onProblem(`a line of ${partBytes} bytes is over the limit of ${MAX_MESSAGE_BYTES} bytes`)
    const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, partBytes)
    const line = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole
    if (!isBlank(line)) this.handlers?.onMessage(line)
  }
}

function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN) return false
  return true
}
