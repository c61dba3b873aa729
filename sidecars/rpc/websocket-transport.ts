import { isUtf8 } from 'node:buffer'
import type { WebSocket } from 'ws'
import { Delivery } from './delivery.ts'
import { OutgoingGauge, type QueueLimits } from './outgoing-gauge.ts'
import type { CloseReason, Transport, TransportHandlers } from './transport.ts'

export interface WebSocketTransportOptions extends Partial<QueueLimits> {
  /**
   * A ping is sent this often; a peer from which nothing came for two intervals is cut off. 0 = never.
   * Default 30 s: below the idle limits of common tunnels, rare enough to cost nothing.
   */
  pingIntervalMs?: number
  /** After `close`, how long the closing handshake may take. Default 1000 ms. */
  lingerMs?: number
}

/** RFC 6455 7.4.1: the codes that say more than "it is closed". */
const CLOSE_MEANINGS: Record<number, string> = {
  1001: 'the other side is going away',
  1002: 'the other side reports a protocol error',
  1006: 'the connection was lost',
  1007: 'a message was not UTF-8',
  1008: 'the other side refuses our messages',
  1009: 'a message is over the limit of the other side',
  1011: 'the other side failed',
}

/**
 * One message a frame over an open `ws` socket, in either direction; text and binary frames are read,
 * text frames are written. Set `maxPayload` where the socket is made: ws closes it with 1009 beyond.
 */
export class WebSocketTransport implements Transport {
  private readonly delivery = new Delivery()
  private readonly gauge: OutgoingGauge
  private readonly lingerMs: number
  private readonly pinger: NodeJS.Timeout | undefined
  private wasHeard = true
  private failure: Error | undefined

  constructor(
    readonly label: string,
    private readonly socket: WebSocket,
    options: WebSocketTransportOptions = {},
  ) {
    this.gauge = new OutgoingGauge(options)
    this.lingerMs = options.lingerMs ?? 1000
    const hear = () => (this.wasHeard = true)
    socket.on('pong', hear)
    socket.on('ping', hear)
    socket.on('message', (frame) => {
      hear()
      this.receive(frame as Buffer | ArrayBuffer | Buffer[])
    })
    socket.on('error', (error) => (this.failure = error))
    socket.on('close', (code, reason) => this.end(this.describeClose(code, reason.toString())))
    const pingIntervalMs = options.pingIntervalMs ?? 30_000
    if (pingIntervalMs > 0) this.pinger = setInterval(() => this.ping(), pingIntervalMs)
    this.pinger?.unref()
    if (socket.readyState >= socket.CLOSING) this.end(this.describeClose(1006, ''))
  }

  get queuedBytes(): number {
    return this.gauge.queuedBytes
  }

  start(handlers: TransportHandlers): void {
    this.delivery.start(handlers)
  }

  send(text: string): boolean {
    if (this.delivery.ended || this.socket.readyState !== this.socket.OPEN) return true
    const frame = Buffer.from(text, 'utf8')
    if (this.gauge.wouldOverflow(frame.length)) {
      const message = `the other side does not read: ${this.gauge.queuedBytes} bytes are waiting`
      this.end({ code: 'overflow', message })
      this.socket.terminate()
      return false
    }
    const hasRoom = this.gauge.add(frame.length)
    this.socket.send(frame, { binary: false }, () => this.gauge.remove(frame.length))
    return hasRoom
  }

  drained(): Promise<void> {
    return this.gauge.drained()
  }
  pause(): void {
    this.delivery.pause()
    this.socket.pause()
  }
  resume(): void {
    this.delivery.resume()
    if (this.delivery.paused) return
    this.wasHeard = true
    this.socket.resume()
  }

  close(message = 'closed here'): void {
    if (this.delivery.ended) return
    const timer = setTimeout(() => this.socket.terminate(), this.lingerMs)
    this.socket.once('close', () => clearTimeout(timer))
    // A paused socket would never read the closing handshake.
    this.socket.resume()
    this.socket.close(1000, closeText(message))
    this.end({ code: 'local', message }, true)
  }

  private receive(frame: Buffer | ArrayBuffer | Buffer[]): void {
    const bytes = Array.isArray(frame) ? Buffer.concat(frame) : Buffer.from(frame as Buffer)
    if (isUtf8(bytes)) this.delivery.message(bytes.toString('utf8'), bytes.length)
    else this.delivery.problem({ code: 'not-utf8', message: `a frame of ${bytes.length} bytes is not UTF-8` })
  }

  private ping(): void {
    // While we do not read we cannot hear the pong: silence proves nothing.
    if (this.delivery.paused) return
    if (!this.wasHeard) {
      this.end({ code: 'error', message: 'the other side stopped answering pings' })
      this.socket.terminate()
      return
    }
    this.wasHeard = false
    if (this.socket.readyState === this.socket.OPEN) this.socket.ping()
  }

  private describeClose(code: number, reason: string): CloseReason {
    if (this.failure) return { code: 'error', message: this.failure.message, cause: this.failure }
    const meaning = CLOSE_MEANINGS[code]
    const said = reason === '' ? '' : `: ${reason}`
    if (meaning) return { code: code === 1001 ? 'remote' : 'error', message: `${meaning} (${code})${said}` }
    return { code: 'remote', message: `the other side closed the connection (${code})${said}` }
  }

  private end(reason: CloseReason, discard = false): void {
    clearInterval(this.pinger)
    this.gauge.release()
    this.delivery.end(reason, discard)
  }
}

/** A close frame holds at most 123 bytes of reason (RFC 6455 5.5). */
function closeText(message: string): string {
  let text = message
  while (Buffer.byteLength(text) > 123) text = text.slice(0, -1)
  return text
}
