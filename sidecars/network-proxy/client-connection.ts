/**
 * A client's connection, listened to once for its whole life: whoever deals with the client at the moment
 * is its sink. Handing a connection on is an assignment, not six listeners taken off and put on.
 */
import type { ByteSocket } from './tcp/byte-socket.ts'

export interface ClientSink {
  onClientBytes(bytes: Buffer): void
  /** The client ended its side; it may still read. */
  onClientEnd(): void
  /** The connection is gone; called once, last. */
  onClientClose(): void
}

export class ClientConnection {
  sink: ClientSink | undefined
  /** The client has ended its side. */
  ended: boolean

  constructor(readonly socket: ByteSocket) {
    this.ended = socket.readableEnded
    // Before anything else: a client that resets must never be an uncaught error.
    socket.on('error', ignoreError)
    socket.on('data', this.onData)
    socket.on('end', this.onEnd)
    socket.on('close', this.onClose)
  }

  /** Stops listening, for an owner that reads the socket itself; the error listener stays. */
  release(): ByteSocket {
    this.sink = undefined
    this.socket.off('data', this.onData)
    this.socket.off('end', this.onEnd)
    this.socket.off('close', this.onClose)
    return this.socket
  }

  private readonly onData = (bytes: Buffer): void => {
    this.sink?.onClientBytes(bytes)
  }
  private readonly onEnd = (): void => {
    this.ended = true
    this.sink?.onClientEnd()
  }
  private readonly onClose = (): void => {
    const { sink } = this
    this.sink = undefined
    sink?.onClientClose()
  }
}

function ignoreError(): void {
  // Whoever owns the connection learns of it by its close.
}
