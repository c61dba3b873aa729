import type { Socket } from 'node:net'
import type { Carrier, CarrierHandlers } from './carrier.ts'
import { MessageWriter } from './message-writer.ts'
import { controlFrame, FrameError, OPCODE, readFrameHead, unmask, websocketFraming } from './websocket-frames.ts'

/**
 * The largest message we take. The Codex CLI ends at 64 MiB; a file of 64 MiB written in one call
 * needs 85.4 MiB of base64 around it, and that must work here.
 */
export const MAX_MESSAGE_BYTES = 96 * 1024 * 1024
/** As the reference server. A peer that does not answer keeps its connection. */
const PING_INTERVAL_MS = 30_000
const NO_BYTES = Buffer.alloc(0)

/** A message, or a frame of one, whose end has not arrived yet. */
interface Unfinished {
  /** The frames before this one of a message in fragments. */
  fragments: Buffer[]
  fragmentBytes: number
}

/**
 * The server's end of one WebSocket, after the upgrade. Text and binary frames are the same to it, no
 * extension is ever used, and like the reference it drops TCP instead of saying goodbye.
 */
export class WebSocketCarrier implements Carrier {
  readonly kind = 'websocket JSON-RPC message'
  private readonly writer: MessageWriter
  private readonly pings: NodeJS.Timeout
  private handlers: CarrierHandlers | undefined
  private message: Unfinished | undefined
  /** Bytes of a head that came in pieces. */
  private pending: Buffer = NO_BYTES
  /** The payload of a frame that is longer than what has arrived. */
  private frame: { bytes: Buffer; filled: number; mask: Buffer; isFinal: boolean; opcode: number } | undefined
  private isPaused = false
  private endReason: string | undefined

  constructor(
    private readonly socket: Socket,
    readonly label: string,
    private readonly head: Buffer,
  ) {
    socket.setNoDelay(true)
    socket.setTimeout(0)
    // Finds a peer whose machine is gone; one that is merely slow keeps its connection.
    socket.setKeepAlive(true, PING_INTERVAL_MS)
    this.writer = new MessageWriter(socket, websocketFraming, () => this.handlers?.onDrained())
    this.pings = setInterval(() => this.writer.sendControl(controlFrame(OPCODE.ping)), PING_INTERVAL_MS)
    this.pings.unref()
    socket.on('error', (error) => this.end(error.message))
    socket.on('close', () => this.end('the client closed the connection'))
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
    this.socket.on('data', (chunk: Buffer) => this.receive(chunk))
    this.socket.on('end', () => this.close('the client closed the connection'))
    if (this.head.length > 0) this.receive(this.head)
    if (!this.isPaused) this.socket.resume()
  }

  sendText(text: string): void {
    this.writer.sendText(text)
  }
  sendFilled(sizeBytes: number, fill: (target: Buffer, offset: number) => void): void {
    this.writer.sendFilled(sizeBytes, fill)
  }
  async sendParts(parts: AsyncIterable<Buffer>): Promise<void> {
    try {
      await this.writer.sendParts(parts)
    } catch (error) {
      this.close(`a message could not be completed: ${(error as Error).message}`)
    }
  }
  pause(): void {
    this.isPaused = true
    this.socket.pause()
  }
  resume(): void {
    this.isPaused = false
    this.socket.resume()
    // What arrived before the pause and was not looked at.
    if (this.pending.length > 0) this.receive(NO_BYTES)
  }
  close(reason: string): void {
    this.end(reason)
  }

  private receive(chunk: Buffer): void {
    try {
      this.read(chunk)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.end(error.message)
    }
    this.writer.flush()
  }

  private read(chunk: Buffer): void {
    let bytes = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    this.pending = NO_BYTES
    if (this.frame) bytes = bytes.subarray(this.continueFrame(bytes))
    let offset = 0
    while (offset < bytes.length && !this.isPaused && this.endReason === undefined) {
      const head = readFrameHead(bytes, offset)
      if (!head) break
      this.checkSize(head.opcode, head.payloadBytes)
      const start = offset + head.headBytes
      const mask = bytes.subarray(start - 4, start)
      const end = start + head.payloadBytes
      if (end <= bytes.length) {
        const payload = bytes.subarray(start, end)
        unmask(payload, mask, 0)
        offset = end
        this.takeFrame(head.opcode, head.isFinal, payload)
      } else if (head.payloadBytes <= bytes.length) break
      else {
        this.frame = {
          bytes: Buffer.allocUnsafeSlow(head.payloadBytes),
          filled: 0,
          mask: Buffer.from(mask),
          isFinal: head.isFinal,
          opcode: head.opcode,
        }
        offset = start + this.continueFrame(bytes.subarray(start))
      }
    }
    if (offset < bytes.length && this.endReason === undefined) this.pending = Buffer.from(bytes.subarray(offset))
  }

  /** Takes what belongs to the frame under way; returns how many bytes that were. */
  private continueFrame(bytes: Buffer): number {
    const frame = this.frame
    if (!frame) return 0
    const taken = Math.min(bytes.length, frame.bytes.length - frame.filled)
    const part = frame.bytes.subarray(frame.filled, frame.filled + taken)
    bytes.copy(part, 0, 0, taken)
    unmask(part, frame.mask, frame.filled)
    frame.filled += taken
    if (frame.filled === frame.bytes.length) {
      this.frame = undefined
      this.takeFrame(frame.opcode, frame.isFinal, frame.bytes)
    }
    return taken
  }

  private checkSize(opcode: number, payloadBytes: number): void {
    const before = opcode === OPCODE.continuation ? (this.message?.fragmentBytes ?? 0) : 0
    if (before + payloadBytes > MAX_MESSAGE_BYTES)
      throw new FrameError(`a message is over the limit of ${MAX_MESSAGE_BYTES} bytes`)
  }

  private takeFrame(opcode: number, isFinal: boolean, payload: Buffer): void {
    switch (opcode) {
      case OPCODE.text:
      case OPCODE.binary:
        if (this.message) throw new FrameError('a new message began inside another')
        if (isFinal) this.handlers?.onMessage(payload)
        else this.message = { fragments: [Buffer.from(payload)], fragmentBytes: payload.length }
        return
      case OPCODE.continuation: {
        const { message } = this
        if (!message) throw new FrameError('a continuation without a beginning')
        message.fragments.push(Buffer.from(payload))
        message.fragmentBytes += payload.length
        if (!isFinal) return
        this.message = undefined
        this.handlers?.onMessage(Buffer.concat(message.fragments, message.fragmentBytes))
        return
      }
      case OPCODE.ping:
        this.writer.sendControl(controlFrame(OPCODE.pong, payload))
        return
      case OPCODE.pong:
        return
      case OPCODE.close:
        this.end('the client closed the connection')
        return
      default:
        throw new FrameError(`unknown opcode ${opcode}`)
    }
  }

  private end(reason: string): void {
    if (this.endReason !== undefined) return
    // An error answer may have been written just before the reason to hang up arose.
    this.writer.flush()
    this.endReason = reason
    clearInterval(this.pings)
    this.writer.end()
    this.socket.destroy()
    this.handlers?.onClose(reason)
  }
}
