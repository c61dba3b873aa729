/** The server side of TLS with a client that believes to talk to an inspected host. */
import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'

const PROTOCOLS = ['h2', 'http/1.1']

export class InspectedSocket extends TLSSocket {
  constructor(
    private readonly raw: Socket,
    secureContext: SecureContext,
  ) {
    super(raw, { isServer: true, secureContext, ALPNProtocols: PROTOCOLS })
  }

  /** A TLS stream has no reset of its own: the connection below gets it. */
  override resetAndDestroy(): this {
    if (!this.raw.destroyed) this.raw.resetAndDestroy()
    return this.destroy()
  }
}
