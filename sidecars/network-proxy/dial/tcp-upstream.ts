/** A connection to an address by TCP, or to a unix socket. */
import { connect } from 'node:net'
import { BulkReader, type Ownership } from '../tcp/bulk-reader.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { tcpBinding } from '../../tcp/tcp-binding.ts'
import { TcpSocket, type ReadTarget } from '../../tcp/tcp-socket.ts'
import { UpstreamConnection } from './upstream-connection.ts'

export class TcpUpstream extends UpstreamConnection {
  readonly socket: ByteSocket
  private readonly reader: BulkReader

  /**
   * Starts connecting; `connect` or `close` follows on `socket`. With port 0 the address is the path of a
   * unix socket.
   */
  constructor(address: string, port: number) {
    super(address, port)
    this.reader = new BulkReader((bytes) => this.deliver(bytes))
    const binding = port === 0 ? undefined : tcpBinding()
    this.socket = binding
      ? TcpSocket.connect(address, port, binding, this.reader)
      : connectStream(address, port, this.reader)
    this.reader.socket = this.socket
    this.listen(this.socket)
  }

  get ownership(): Ownership {
    return this.reader.ownership
  }

  pause(): void {
    this.reader.pause()
  }

  resume(): void {
    this.reader.resume()
  }

  startOver(): void {
    this.reader.startOver()
  }

  protected override closed(): void {
    this.reader.closed()
  }
}

/** By node:net: for unix sockets, and where there is nothing below it. */
function connectStream(address: string, port: number, onread: ReadTarget): ByteSocket {
  return connect(
    port === 0
      ? { path: address, allowHalfOpen: true, onread }
      : { host: address, port, noDelay: true, allowHalfOpen: true, onread },
  )
}
