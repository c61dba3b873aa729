import type { Readable, Writable } from 'node:stream'
import { Delivery } from './delivery.ts'
import { DEFAULT_MAX_LINE_BYTES, LineSplitter, type Line } from './line-splitter.ts'
import { OutgoingGauge, type QueueLimits } from './outgoing-gauge.ts'
import type { CloseReason, Transport, TransportHandlers } from './transport.ts'

const LINE_END = Buffer.from('\n')

export interface LinesTransportOptions extends Partial<QueueLimits> {
  /** Longer lines are skipped and reported; default 64 MiB. */
  maxLineBytes?: number
  /** After `close`, how long queued messages may still take to leave. Default 1000 ms. */
  lingerMs?: number
}

/**
 * JSON lines over any pair of byte streams (or one duplex given twice). Takes ownership of both
 * streams: closing the transport destroys them.
 */
export class LinesTransport implements Transport {
  private readonly delivery = new Delivery()
  private readonly gauge: OutgoingGauge
  private readonly splitter: LineSplitter
  private readonly lingerMs: number
  private outputFailure: CloseReason | undefined
  private isCorked = false

  constructor(
    readonly label: string,
    private readonly input: Readable,
    private readonly output: Writable,
    options: LinesTransportOptions = {},
  ) {
    this.gauge = new OutgoingGauge(options)
    this.splitter = new LineSplitter(options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES)
    this.lingerMs = options.lingerMs ?? 1000
    // From the first moment: an error event without a listener would end the process.
    input.on('error', (error) => this.end({ code: 'error', message: `reading failed: ${error.message}`, cause: error }))
    output.on('error', (error) => this.endOfOutput(writeFailure(error)))
    input.on('close', () => this.endOfInput())
    output.on('close', () => this.endOfOutput({ code: 'remote', message: 'the other side stopped reading' }))
  }

  get queuedBytes(): number {
    return this.gauge.queuedBytes
  }

  start(handlers: TransportHandlers): void {
    if (this.delivery.started) return
    this.delivery.start(handlers)
    this.input.on('data', (chunk: Buffer) => {
      this.deliver(this.splitter.push(chunk))
      if (this.delivery.paused) this.input.pause()
    })
    this.input.on('end', () => this.endOfInput())
    if (this.input.readableEnded || this.input.destroyed) this.endOfInput()
    if (this.delivery.paused) this.input.pause()
  }

  send(text: string): boolean {
    return this.write([Buffer.from(`${text}\n`, 'utf8')])
  }

  sendBytes(pieces: readonly Uint8Array[]): boolean {
    return this.write([...pieces, LINE_END])
  }

  /** Queues the pieces of one line. */
  private write(pieces: readonly Uint8Array[]): boolean {
    if (this.delivery.ended || this.outputFailure) return true
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    if (this.gauge.wouldOverflow(bytes)) {
      const message = `the other side does not read: ${this.gauge.queuedBytes} bytes are waiting`
      this.end({ code: 'overflow', message })
      return false
    }
    const hasRoom = this.gauge.add(bytes)
    this.corkForThisTurn()
    for (const piece of pieces) this.output.write(piece, () => this.gauge.remove(piece.length))
    return hasRoom
  }

  drained(): Promise<void> {
    return this.gauge.drained()
  }
  pause(): void {
    this.delivery.pause()
    if (this.delivery.started) this.input.pause()
  }
  resume(): void {
    this.delivery.resume()
    if (this.delivery.started && !this.delivery.paused) this.input.resume()
  }

  close(message = 'closed here'): void {
    if (this.delivery.ended) return
    this.flushThenDestroy()
    this.gauge.release()
    this.delivery.end({ code: 'local', message }, true)
  }

  /** Messages of one turn of the event loop leave in one system call. */
  private corkForThisTurn(): void {
    if (this.isCorked) return
    this.isCorked = true
    this.output.cork()
    process.nextTick(() => {
      this.isCorked = false
      this.output.uncork()
    })
  }

  private deliver(lines: Line[]): void {
    for (const line of lines)
      if ('problem' in line) this.delivery.problem(line.problem)
      else this.delivery.message(line.text, line.bytes)
  }

  private endOfInput(): void {
    if (this.delivery.ended) return
    this.deliver(this.splitter.end())
    this.end({ code: 'remote', message: 'the other side closed the channel' })
  }

  /** The other side may have said its last words before it went: reads on until the input ends too. */
  private endOfOutput(reason: CloseReason): void {
    if (this.delivery.ended || this.outputFailure) return
    this.outputFailure = reason
    this.gauge.release()
    const timer = setTimeout(() => this.end(reason), this.lingerMs)
    this.input.once('close', () => clearTimeout(timer))
  }

  private end(reason: CloseReason): void {
    if (this.delivery.ended) return
    this.gauge.release()
    this.delivery.end(reason)
    if (reason.code === 'overflow') this.destroy()
    else this.flushThenDestroy()
  }

  /** What was queued still leaves, for a while: a last answer must not be lost. */
  private flushThenDestroy(): void {
    const timer = setTimeout(() => this.destroy(), this.lingerMs)
    this.output.end(() => {
      clearTimeout(timer)
      this.destroy()
    })
  }

  private destroy(): void {
    this.output.destroy()
    this.input.destroy()
  }
}

function writeFailure(error: NodeJS.ErrnoException): CloseReason {
  return error.code === 'EPIPE' || error.code === 'ECONNRESET'
    ? { code: 'remote', message: 'the other side closed the channel', cause: error }
    : { code: 'error', message: `writing failed: ${error.message}`, cause: error }
}
