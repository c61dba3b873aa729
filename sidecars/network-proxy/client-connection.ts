/**
 * A client's connection, listened to once for its whole life: whoever deals with the client at the moment
 * is its sink. Handing a connection on is an assignment, not six listeners taken off and put on.
 */
import { BulkReader, type ByteSource, type Ownership } from './tcp/bulk-reader.ts'
import type { ByteSocket } from '../tcp/byte-socket.ts'
import { TcpSocket } from '../tcp/tcp-socket.ts'

export interface ClientSink {
  /** Set when `onClientBytes` looks at `ClientConnection.ownership`; else it gets bytes for good. */
  readonly takesLent?: true
  onClientBytes(bytes: Buffer): void
  /** The client ended its side; it may still read. */
  onClientEnd(): void
  /** The connection is gone; called once, last. */
  onClientClose(): void
}

export class ClientConnection implements ByteSource {
  sink: ClientSink | undefined
  /** The client has ended its side. */
  ended: boolean
  private readonly reader: BulkReader | undefined

  constructor(readonly socket: ByteSocket) {
    this.ended = socket.readableEnded
    // Before anything else: a client that resets must never be an uncaught error.
    socket.on('error', ignoreError)
    if (socket instanceof TcpSocket) {
      this.reader = new BulkReader(this.onBytes)
      this.reader.socket = socket
      socket.readTo(this.reader)
    } else socket.on('data', this.onBytes)
    socket.on('end', this.onEnd)
    socket.on('close', this.onClose)
  }

  get ownership(): Ownership {
    return this.reader?.ownership ?? 'owned'
  }

  pause(): void {
    if (this.reader) this.reader.pause()
    else this.socket.pause()
  }

  resume(): void {
    if (this.reader) this.reader.resume()
    else this.socket.resume()
  }

  /** Stops listening, for an owner that reads the socket itself; the error listener stays. */
  release(): ByteSocket {
    this.sink = undefined
    this.reader?.release()
    if (this.socket instanceof TcpSocket) this.socket.readTo(undefined)
    this.socket.off('data', this.onBytes)
    this.socket.off('end', this.onEnd)
    this.socket.off('close', this.onClose)
    return this.socket
  }

  private readonly onBytes = (bytes: Buffer): void => {
    const { sink, ownership } = this
    if (!sink) return
    sink.onClientBytes(ownership === 'owned' || sink.takesLent ? bytes : Buffer.from(bytes))
  }
  private readonly onEnd = (): void => {
    this.ended = true
    this.sink?.onClientEnd()
  }
  private readonly onClose = (): void => {
    const { sink } = this
    this.sink = undefined
    this.reader?.closed()
    sink?.onClientClose()
  }
}

function ignoreError(): void {
  // Whoever owns the connection learns of it by its close.
}
