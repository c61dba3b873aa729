/** HTTPS servers on loopback, with certificates of an authority that only tests trust. */
import { generateKeyPairSync } from 'node:crypto'
import { createSecureServer, type Http2SecureServer } from 'node:http2'
import { createServer as createHttpsServer, type ServerOptions } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { newAuthority, type AuthorityIdentity } from '../certificates/certificate-authority.ts'
import { toPem } from '../certificates/pem.ts'
import { leafCertificate } from '../certificates/x509.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** The authority of all test origins; give it to a proxy as its platform's. */
export const ORIGIN_AUTHORITY: AuthorityIdentity = newAuthority(Date.now())
export const ORIGIN_ROOTS = (): Promise<Buffer[]> => Promise.resolve([ORIGIN_AUTHORITY.certificate])

export interface OriginCertificate {
  cert: string
  key: string
}

/** A server certificate for `host`, valid for `days` from a day ago. */
export function originCertificate(host: string, { days = 30, authority = ORIGIN_AUTHORITY } = {}): OriginCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const notBefore = new Date(Date.now() - 10 * DAY_MS)
  const notAfter = new Date(Date.now() + days * DAY_MS)
  const leaf = leafCertificate(authority.issuer, {
    host,
    publicKey,
    validity: { notBefore, notAfter },
    crlUrl: undefined,
  })
  return {
    cert: toPem('CERTIFICATE', leaf),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

interface Listening {
  port: number
}

interface AnyServer {
  listen(port: number, host: string, listening: () => void): unknown
  address(): AddressInfo | string | null
  close(): unknown
  on(event: 'connection', listener: (socket: Socket) => void): unknown
}

async function listen<T extends AnyServer>(server: T): Promise<Listening & { server: T }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { server, port: (server.address() as AddressInfo).port }
}

/** HTTP/1.1 over TLS, for the host `127.0.0.1` unless told otherwise. */
export function httpsOrigin(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  options: ServerOptions = {},
): Promise<Listening & { server: ReturnType<typeof createHttpsServer> }> {
  const server = createHttpsServer({ ...originCertificate('127.0.0.1'), ...options }, serve)
  server.on('tlsClientError', () => {})
  return listen(server)
}

/** HTTP/2 (and 1.1 where a client wants it) over TLS. */
export function h2Origin(host = '127.0.0.1'): Promise<Listening & { server: Http2SecureServer }> {
  const server = createSecureServer({ ...originCertificate(host), allowHTTP1: true })
  server.on('sessionError', () => {})
  return listen(server)
}

/** Bare TLS. */
export function tlsOrigin(
  serve: (socket: TLSSocket) => void,
  certificate = originCertificate('127.0.0.1'),
): Promise<Listening> {
  const server = createTlsServer({ ...certificate, ALPNProtocols: ['http/1.1'] }, (socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  server.on('tlsClientError', () => {})
  return listen(server)
}
