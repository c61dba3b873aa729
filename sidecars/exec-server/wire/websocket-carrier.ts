import type { Socket } from 'node:net'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { tcpBinding } from '../../tcp/tcp-binding.ts'
import { TcpSocket } from '../../tcp/tcp-socket.ts'
import { KEPT_MESSAGE_BYTES, type Carrier, type CarrierHandlers } from './carrier.ts'
import type { Fill, MessagePiece } from './message-piece.ts'
import { MessageWriter } from './message-writer.ts'
import { WebSocketReader } from './websocket-reader.ts'
import { controlFrame, FrameError, OPCODE, websocketFraming } from './websocket-frames.ts'

/** As the reference server. A peer that does not answer keeps its connection. */
const PING_INTERVAL_MS = 30_000

/**
 * The server's end of one WebSocket, after the upgrade. Text and binary frames are the same to it, no
 * extension is ever used, and like the reference it drops TCP instead of saying goodbye.
 */
export class WebSocketCarrier implements Carrier {
  readonly kind = 'websocket JSON-RPC message'
  private readonly socket: ByteSocket
  private readonly writer: MessageWriter
  private readonly reader: WebSocketReader
  private readonly pings: NodeJS.Timeout
  private handlers: CarrierHandlers | undefined
  private isPaused = false
  private endReason: string | undefined

  constructor(
    private readonly accepted: Socket,
    readonly label: string,
    private readonly head: Buffer,
  ) {
    this.reader = new WebSocketReader({
      onMessage: (message, isOwn) => this.deliver(message, isOwn),
      onControl: (opcode, payload) => this.control(opcode, payload),
    })
    accepted.setNoDelay(true)
    accepted.setTimeout(0)
    // Finds a peer whose machine is gone; one that is merely slow keeps its connection.
    accepted.setKeepAlive(true, PING_INTERVAL_MS)
    const binding = tcpBinding()
    const target = { buffer: () => this.reader.room(), callback: (bytesRead: number) => this.received(bytesRead) }
    // Without the stream around it, which is much of what a short message costs.
    this.socket = (binding && TcpSocket.takenFrom(accepted, binding, target)) ?? accepted
    const { socket } = this
    this.writer = new MessageWriter(socket, websocketFraming, () => this.handlers?.onDrained())
    this.pings = setInterval(() => this.writer.sendControl(controlFrame(OPCODE.ping)), PING_INTERVAL_MS)
    this.pings.unref()
    socket.on('error', (error) => this.end(error.message))
    socket.on('end', () => this.end('the client closed the connection'))
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
    if (this.socket === this.accepted) this.socket.on('data', (chunk: Buffer) => this.read(chunk))
    if (this.head.length > 0) this.read(this.head)
    if (!this.isPaused) this.socket.resume()
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
    this.reader.pause()
    this.socket.pause()
  }
  resume(): void {
    this.isPaused = false
    this.guarded(() => this.reader.resume())
    if (!this.isPaused && this.endReason === undefined) this.socket.resume()
  }
  close(reason: string): void {
    this.end(reason)
  }

  private received(bytesRead: number): boolean {
    this.guarded(() => this.reader.filled(bytesRead))
    return !this.isPaused
  }
  private read(chunk: Buffer): void {
    this.guarded(() => this.reader.push(chunk))
  }

  /** Answers of one read leave together. */
  private guarded(read: () => void): void {
    try {
      this.writer.batch(read)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.end(error.message)
    }
  }

  private deliver(message: Buffer, isOwn: boolean): void {
    if (this.endReason !== undefined) return
    this.handlers?.onMessage(isOwn || message.length < KEPT_MESSAGE_BYTES ? message : Buffer.from(message))
  }

  private control(opcode: number, payload: Buffer): void {
    if (opcode === OPCODE.ping) this.writer.sendControl(controlFrame(OPCODE.pong, payload))
    else if (opcode === OPCODE.close) this.end('the client closed the connection')
  }

  private end(reason: string): void {
    if (this.endReason !== undefined) return
    // An error answer may have been written just before the reason to hang up arose.
    this.writer.flush()
    this.endReason = reason
    clearInterval(this.pings)
    this.writer.end()
    this.socket.destroy()
    this.accepted.destroy()
    this.handlers?.onClose(reason)
  }
}
