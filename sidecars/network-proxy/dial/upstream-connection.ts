/** A connection to an origin or a parent proxy, whatever carries it. */
import { stayAwake } from '../../tcp/stay-awake.ts'
import { resetSocket } from '../../tcp/reset-socket.ts'
import type { ByteSource, Ownership } from '../tcp/bulk-reader.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'

/** Who gets what arrives. Exactly one sink at a time; it may hand the connection to another. */
export interface UpstreamSink {
  /** Bytes in order; see `ByteSource.ownership` for how long they are valid. */
  onBytes(bytes: Buffer): void
  /** The other side ended its half. */
  onEnd(): void
  /** What was written is on its way; more may follow. */
  onDrain?(): void
  /** The connection is gone; called once, last. */
  onClose(error: Error | undefined): void
}

/** What an origin on this machine takes at least, and the way there and back. */
const LOCAL_ANSWER_MS = 0.15

export abstract class UpstreamConnection implements ByteSource {
  sink: UpstreamSink | undefined
  abstract readonly socket: ByteSocket
  private error: Error | undefined

  constructor(
    /** The address that was judged and dialled. */
    readonly address: string,
    readonly port: number,
  ) {}

  /** After something was sent that is answered at once where the origin is on this machine. */
  expectAnswer(): void {
    if (this.port === 0 || this.address.startsWith('127.') || this.address === '::1') stayAwake(LOCAL_ANSWER_MS)
  }

  abstract readonly ownership: Ownership
  abstract pause(): void
  abstract resume(): void
  /** Reads on for its next user; what is lent stays with those who have it. Only during a call of `onBytes`. */
  abstract startOver(): void

  /**
   * Ends at once. With `reset` the other side sees a reset, so that it cannot take a torn stream for a
   * whole one.
   */
  destroy(reset = false): void {
    if (reset) resetSocket(this.socket)
    else this.socket.destroy()
  }

  /** Before anything is awaited: a socket without an error listener takes the process with it. */
  protected listen(socket: ByteSocket): void {
    socket.on('error', this.onError)
    socket.on('end', this.onEnd)
    socket.on('drain', this.onDrain)
    socket.on('close', this.onClose)
  }

  protected deliver(bytes: Buffer): void {
    if (this.sink) this.sink.onBytes(bytes)
    // Bytes nobody asked for: the other side is out of step with us.
    else this.socket.destroy()
  }

  protected closed(): void {}

  private readonly onError = (error: Error): void => {
    this.error = error
  }
  private readonly onEnd = (): void => {
    if (this.sink) this.sink.onEnd()
    else this.socket.destroy()
  }
  private readonly onDrain = (): void => {
    this.sink?.onDrain?.()
  }
  private readonly onClose = (): void => {
    const { sink } = this
    this.sink = undefined
    this.closed()
    sink?.onClose(this.error)
  }
}
