/** A TLS connection to an origin, over a connection that was judged and dialled before. */
import { isIP } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { UpstreamConnection, type Ownership } from './upstream-connection.ts'

export interface TlsDialOptions {
  /** Roots to trust; absent = those of the runtime. */
  secureContext?: SecureContext
  handshakeTimeoutMs: number
}

export class TlsUpstream extends UpstreamConnection {
  readonly socket: TLSSocket
  readonly ownership: Ownership = 'owned'

  private constructor(raw: UpstreamConnection, host: string, options: TlsDialOptions) {
    super(raw.address, raw.port)
    // What happens to the connection below is told by the TLS socket from now on.
    raw.sink = { onBytes() {}, onEnd() {}, onClose() {} }
    this.socket = connectTls({
      socket: raw.socket,
      host,
      // An address is no server name (RFC 6066).
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ['http/1.1'],
      ...(options.secureContext ? { secureContext: options.secureContext } : {}),
    })
    this.socket.on('data', (bytes: Buffer) => this.deliver(bytes))
    this.listen(this.socket)
  }

  /** Handshakes on `raw` and verifies the certificate for `host`. Rejects with the error of TLS; `raw` is then destroyed. */
  static open(raw: UpstreamConnection, host: string, options: TlsDialOptions): Promise<TlsUpstream> {
    const upstream = new TlsUpstream(raw, host, options)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => upstream.socket.destroy(new Error(`no handshake within ${options.handshakeTimeoutMs} ms`)),
        options.handshakeTimeoutMs,
      )
      upstream.sink = {
        onBytes() {},
        onEnd: () => upstream.socket.destroy(new Error('the connection ended during the handshake')),
        onClose(error) {
          clearTimeout(timer)
          raw.destroy()
          reject(error ?? new Error('the connection closed during the handshake'))
        },
      }
      upstream.socket.once('secureConnect', () => {
        clearTimeout(timer)
        upstream.sink = undefined
        resolve(upstream)
      })
    })
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }
}
