/** The server side of TLS with a client that believes to talk to an inspected host. */
import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'
import { resetSocket } from '../../tcp/reset-socket.ts'

/** As it travels in the handshake: each name after its length. */
const PROTOCOLS = Buffer.from('\x02h2\x08http/1.1', 'latin1')

export class InspectedSocket extends TLSSocket {
  /** node:http2 waits for a client's event while this is set; only `tls.Server` clears it for the others. */
  declare secureConnecting: boolean

  constructor(
    private readonly raw: Socket,
    secureContext: SecureContext,
  ) {
    super(raw, { isServer: true, secureContext, ALPNProtocols: PROTOCOLS })
    this.once('secure', () => (this.secureConnecting = false))
  }

  /**
   * A TLS stream has no reset of its own: the connection below gets it, and takes this one along. With bytes
   * still queued that would wait for a client that may never read; then the end without a closing alert has to do.
   */
  override resetAndDestroy(): this {
    if (this.writableLength > 0 || this.raw.destroyed) return this.destroy()
    resetSocket(this.raw)
    return this
  }
}
