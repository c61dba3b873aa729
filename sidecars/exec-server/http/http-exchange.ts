import { request as requestPlain, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { connectHost, portOf, type CallHeader, type Environment } from './http-call.ts'
import { ACCEPT_ENCODING } from './body-decoding.ts'
import { isSocksProxy, openSocksTunnel } from './socks-tunnel.ts'
import { basicAuthorization, proxyAuthorization, proxyFor } from './upstream-proxy.ts'

/** One request on the way to one URL. */
export interface Exchange {
  method: string
  url: URL
  headers: CallHeader[]
  body: Buffer | null
}

/** Servers that put whole tokens into cookies come near the usual 16 KiB. */
const MAX_RESPONSE_HEADER_BYTES = 256 * 1024

/**
 * Sends one request and resolves with the answer's head; its body is still to be read. Every request
 * has a connection of its own: a reused one can die under a request that must not be sent twice.
 */
export async function exchange(
  { method, url, headers, body }: Exchange,
  environment: Environment,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const proxy = proxyFor(url, environment)
  const lines = headerLines(headers, url, body)
  const options: RequestOptions = {
    method,
    signal,
    setHost: false,
    agent: false,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    path: `${url.pathname}${url.search}`,
    host: connectHost(url),
    port: portOf(url),
  }
  if (!proxy) return send(url.protocol === 'https:' ? requestTls(options) : requestPlain(options), options, lines, body)
  if (isSocksProxy(proxy)) {
    const target = { host: connectHost(url), port: portOf(url) }
    return sendThrough(await openSocksTunnel(proxy, target, signal), url, options, lines, body)
  }
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:')
    throw new Error(
      `the environment names a ${proxy.protocol.slice(0, -1)} proxy; http, https, socks4, socks4a, socks5 and socks5h work here`,
    )
  if (url.protocol === 'http:') {
    const authorization = proxyAuthorization(proxy)
    if (authorization && !lines.has('proxy-authorization')) lines.set('proxy-authorization', [authorization])
    Object.assign(options, { host: connectHost(proxy), port: portOf(proxy), path: withoutUser(url) })
    return send(proxy.protocol === 'https:' ? requestTls(options) : requestPlain(options), options, lines, body)
  }
  return sendThrough(await openTunnel(proxy, url, signal), url, options, lines, body)
}

/** Over a connection that leads to the host of `url` already. */
function sendThrough(
  tunnel: Socket,
  url: URL,
  options: RequestOptions,
  lines: Map<string, string[]>,
  body: Buffer | null,
): Promise<IncomingMessage> {
  // An agent, even a new one, would make its own connection.
  const overTunnel = { ...options, agent: undefined }
  if (url.protocol === 'http:') {
    const request = requestPlain({ ...overTunnel, createConnection: () => tunnel })
    // It was paused so that nothing is lost before somebody reads it.
    request.once('socket', (socket) => socket.resume())
    return send(request, options, lines, body)
  }
  const host = connectHost(url)
  // Server names are names: an address has none to send.
  const servername = isIP(host) === 0 ? host : undefined
  const createConnection = () => connectTls({ socket: tunnel, host, servername, ALPNProtocols: ['http/1.1'] })
  return send(requestTls({ ...overTunnel, createConnection }), options, lines, body)
}

function send(
  request: ClientRequest,
  { method = 'GET' }: RequestOptions,
  lines: Map<string, string[]>,
  body: Buffer | null,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Node makes it upper case; methods are what they were written as.
    request.method = method
    for (const [name, values] of lines) request.setHeader(name, values.length === 1 ? (values[0] as string) : values)
    request.on('response', resolve)
    request.on('error', reject)
    request.on('connect', (_response, socket: Socket) => {
      socket.destroy()
      reject(new Error('tunnels cannot be opened with http/request'))
    })
    request.on('upgrade', (_response, socket: Socket) => {
      socket.destroy()
      reject(new Error('the server switched to another protocol'))
    })
    request.end(body ?? undefined)
  })
}

function headerLines(headers: CallHeader[], url: URL, body: Buffer | null): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  for (const { name, value } of headers) lines.set(name, [...(lines.get(name) ?? []), value])
  const addMissing = (name: string, value: string) => lines.has(name) || lines.set(name, [value])
  if (url.username !== '' || url.password !== '') addMissing('authorization', basicAuthorization(url))
  addMissing('accept', '*/*')
  // Half an encoded body cannot be decoded.
  if (!lines.has('range')) addMissing('accept-encoding', ACCEPT_ENCODING)
  addMissing('host', url.host)
  // A body in chunks has no length.
  if (body && body.length > 0 && !lines.has('transfer-encoding')) lines.set('content-length', [String(body.length)])
  return lines
}

function withoutUser(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}${url.search}`
}

/** A connection through the proxy to the host of `url`. */
function openTunnel(proxy: URL, url: URL, signal: AbortSignal): Promise<Socket> {
  const target = `${url.hostname}:${portOf(url)}`
  const authorization = proxyAuthorization(proxy)
  const options: RequestOptions = {
    method: 'CONNECT',
    path: target,
    host: connectHost(proxy),
    port: portOf(proxy),
    headers: { host: target, ...(authorization ? { 'proxy-authorization': authorization } : {}) },
    agent: false,
    signal,
  }
  return new Promise((resolve, reject) => {
    const request = proxy.protocol === 'https:' ? requestTls(options) : requestPlain(options)
    request.on('error', reject)
    request.on('response', (response) => {
      response.destroy()
      reject(new Error(`the proxy refused the tunnel with status ${response.statusCode}`))
    })
    request.on('connect', (response, socket: Socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy()
        return reject(new Error(`the proxy refused the tunnel with status ${response.statusCode}`))
      }
      if (head.length > 0) socket.unshift(head)
      const onAbort = () => socket.destroy()
      signal.addEventListener('abort', onAbort, { once: true })
      socket.once('close', () => signal.removeEventListener('abort', onAbort))
      resolve(socket)
    })
    request.end()
  })
}
