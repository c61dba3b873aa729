/** A TLS client inside a tunnel through the proxy, which trusts only the bundle it is given. */
import { readFileSync } from 'node:fs'
import { connect as connectH2, type ClientHttp2Session } from 'node:http2'
import { isIP } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { connectTo, RawClient } from './raw-client.ts'
import type { ProxyFixture } from './proxy-fixture.ts'

export interface TunnelOptions {
  protocols?: string[]
  /** Another name than the tunnel's host. */
  serverName?: string
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
}

/** A tunnel in which nothing has been said. */
export async function tunnelThrough(
  { httpPort }: Pick<ProxyFixture, 'httpPort'>,
  authority: string,
): Promise<RawClient> {
  const raw = await RawClient.open(httpPort)
  raw.send(connectTo(authority))
  const answer = await raw.answer('HEAD')
  if (answer.status !== 200) throw new Error(`CONNECT was answered ${answer.status}`)
  return raw
}

/** CONNECT, then a verified handshake. Rejects with the error of TLS. */
export async function tlsThrough(
  fixture: Pick<ProxyFixture, 'httpPort' | 'proxy'>,
  authority: string,
  options: TunnelOptions = {},
): Promise<TLSSocket> {
  return tlsOver(await tunnelThrough(fixture, authority), fixture, authority, options)
}

/** A verified handshake in a tunnel. Rejects with the error of TLS. */
export async function tlsOver(
  raw: RawClient,
  { proxy }: Pick<ProxyFixture, 'proxy'>,
  authority: string,
  { protocols = ['http/1.1'], serverName, maxVersion = 'TLSv1.3' }: TunnelOptions = {},
): Promise<TLSSocket> {
  raw.socket.removeAllListeners('data')
  // Real clients do not keep half-open connections of TLS.
  raw.socket.allowHalfOpen = false
  const host = serverName ?? authority.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  const socket = connectTls({
    socket: raw.socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: protocols,
    ca: readFileSync(proxy.trustBundlePath ?? '', 'utf8'),
    maxVersion,
  })
  onTestFinished(() => void socket.destroy())
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      socket.off('error', reject)
      resolve()
    })
  })
  return socket
}

/** The same with raw requests and answers on top. */
export async function rawThrough(
  fixture: ProxyFixture,
  authority: string,
  options: TunnelOptions = {},
): Promise<RawClient> {
  return RawClient.over(await tlsThrough(fixture, authority, options))
}

/** The same with HTTP/2 on top. */
export async function h2Through(fixture: ProxyFixture, authority: string): Promise<ClientHttp2Session> {
  const socket = await tlsThrough(fixture, authority, { protocols: ['h2'] })
  const session = connectH2(`https://${authority}`, { createConnection: () => socket })
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return session
}
