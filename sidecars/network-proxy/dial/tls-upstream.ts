/** A TLS connection to an origin, over a connection that was judged and dialled before. */
import type { TLSSocket } from 'node:tls'
import type { Ownership } from '../tcp/bulk-reader.ts'
import { tlsHandshake, type TlsDialOptions } from './tls-handshake.ts'
import { UpstreamConnection } from './upstream-connection.ts'

export class TlsUpstream extends UpstreamConnection {
  readonly ownership: Ownership = 'owned'

  private constructor(
    raw: UpstreamConnection,
    readonly socket: TLSSocket,
  ) {
    super(raw.address, raw.port)
    this.socket.on('data', (bytes: Buffer) => this.deliver(bytes))
    this.listen(this.socket)
  }

  /**
   * Handshakes on `raw` and verifies the certificate for `host`, for HTTP/1.1. Rejects with the error of
   * TLS; `raw` is then destroyed.
   */
  static async open(raw: UpstreamConnection, host: string, options: TlsDialOptions): Promise<TlsUpstream> {
    return new TlsUpstream(raw, await tlsHandshake(raw, host, options, ['http/1.1']))
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  startOver(): void {
    this.socket.resume()
  }

  /** A TLS stream has no reset; one that ends without its closing alert cannot be taken for a whole one. */
  override destroy(): void {
    this.socket.destroy()
  }
}
