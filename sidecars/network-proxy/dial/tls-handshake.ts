/** TLS with an origin: handshake, verification, and sessions that make the next handshake cheap. */
import { isIP } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { formatAuthority } from '../policy/authority.ts'
import { asStream } from '../../tcp/tcp-socket.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

export interface TlsDialOptions {
  /** Roots to trust; absent = those of the runtime. */
  secureContext?: () => Promise<SecureContext>
  handshakeTimeoutMs: number
  sessions?: TlsSessions
}

const MAX_SESSIONS = 512

/** Sessions of verified origins. They may only be used with the roots they were verified with. */
export class TlsSessions {
  private readonly tickets = new Map<string, Buffer>()

  get(key: string): Buffer | undefined {
    return this.tickets.get(key)
  }

  /** The oldest of 512 gives way. */
  set(key: string, ticket: Buffer): void {
    this.tickets.delete(key)
    this.tickets.set(key, ticket)
    for (const oldest of this.tickets.keys()) {
      if (this.tickets.size <= MAX_SESSIONS) break
      this.tickets.delete(oldest)
    }
  }

  delete(key: string): void {
    this.tickets.delete(key)
  }
}

/**
 * Handshakes on `raw` and verifies the certificate for `host`. Nothing is read from the socket that is
 * returned until somebody listens; its errors are listened to. Rejects with the error of TLS; `raw` is then destroyed.
 */
export async function tlsHandshake(
  raw: UpstreamConnection,
  host: string,
  options: TlsDialOptions,
  protocols: readonly string[],
): Promise<TLSSocket> {
  let lost: Error | undefined
  // Once there is a TLS socket, that one tells what happens to the connection below.
  raw.sink = { onBytes() {}, onEnd() {}, onClose: (error) => (lost = error) }
  const secureContext = await options.secureContext?.()
  if (raw.socket.destroyed) throw lost ?? new Error('the connection closed before the handshake')
  const key = `${formatAuthority(host, raw.port)} ${protocols.join(' ')}`
  const session = options.sessions?.get(key)
  const socket = connectTls({
    socket: asStream(raw.socket),
    host,
    // An address is no server name (RFC 6066).
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: [...protocols],
    ...(secureContext ? { secureContext } : {}),
    ...(session ? { session } : {}),
  })
  socket.on('error', () => {
    // Whoever owns the socket learns of it by `close`.
  })
  socket.on('session', (ticket: Buffer) => options.sessions?.set(key, ticket))
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no handshake within ${options.handshakeTimeoutMs} ms`)),
      options.handshakeTimeoutMs,
    )
    const onClose = () => {
      clearTimeout(timer)
      raw.destroy()
      options.sessions?.delete(key)
      reject(socket.errored ?? new Error('the connection closed during the handshake'))
    }
    socket.once('close', onClose)
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.off('close', onClose)
      resolve(socket)
    })
  })
}
