import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIP, type AddressInfo, type Socket } from 'node:net'
import { WebSocketCarrier } from '../wire/websocket-carrier.ts'
import type { Authorize } from '../../rpc/authorization.ts'

export interface WebSocketListener {
  /** Without a trailing slash, for example `ws://127.0.0.1:39835`. */
  readonly url: string
  /** Stops listening and drops every connection. */
  close(): Promise<void>
}
export interface WebSocketListenerOptions {
  host: string
  /** 0 picks one. */
  port: number
  authorize: Authorize
  onConnection(carrier: WebSocketCarrier, address: string): void
}

/** RFC 6455, section 1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

interface Refusal {
  status: number
  body: string
}

/**
 * Listens for WebSocket clients, with `/readyz` and `/healthz` beside them. Whatever carries an Origin comes from
 * a web page and is refused; no subprotocol and no extension is ever agreed to.
 * Rejects with the system's error when it cannot listen.
 */
export function listenWebSocket(options: WebSocketListenerOptions): Promise<WebSocketListener> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => answerPlain(request, response))
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Until the carrier has its own.
    socket.on('error', () => {})
    const refusal = refuseUpgrade(request, options.authorize)
    if (refusal) return endWith(socket, refusal)
    socket.write(acceptance(request))
    const address = `${socket.remoteAddress ?? 'unknown'}:${socket.remotePort ?? 0}`
    options.onConnection(new WebSocketCarrier(socket, `websocket ${address}`, head), address)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, () => {
      server.off('error', reject)
      resolve({ url: urlOf(server), close: () => close(server, sockets) })
    })
  })
}

function refuseUpgrade(request: IncomingMessage, authorize: Authorize): Refusal | undefined {
  if (request.headers.origin !== undefined || !isDirect(request.headers.host)) return { status: 403, body: '' }
  if (pathOf(request) !== '/') return { status: 404, body: '' }
  if (request.method !== 'GET' || request.headers.upgrade?.toLowerCase() !== 'websocket')
    return { status: 400, body: 'expected an upgrade to websocket\n' }
  if (request.headers['sec-websocket-version'] !== '13' || !request.headers['sec-websocket-key'])
    return { status: 400, body: 'expected Sec-WebSocket-Key and Sec-WebSocket-Version: 13\n' }
  const problem = authorize(request.headers.authorization)
  return problem === undefined ? undefined : { status: 401, body: problem }
}

/**
 * Clients name an address, or the machine itself. Any other name was made to point here (DNS rebinding)
 * by somebody who wants a program of the owner to talk to us.
 */
function isDirect(host: string | undefined): boolean {
  if (host === undefined) return true
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0
}

function answerPlain(request: IncomingMessage, response: ServerResponse): void {
  const path = pathOf(request)
  const end = (status: number, body = '') => {
    response.writeHead(status, body === '' ? {} : { 'content-type': 'text/plain; charset=utf-8' })
    response.end(body)
  }
  if (request.headers.origin !== undefined) end(403)
  else if (path === '/readyz' || path === '/healthz') end(request.method === 'GET' ? 200 : 405)
  else if (path === '/') end(400, 'Connection header did not include upgrade\n')
  else end(404)
}

/** A query is ignored. */
function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] as string
}

const STATUS_TEXT: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
}

function endWith(socket: Socket, { status, body }: Refusal): void {
  const type = body === '' ? '' : 'content-type: text/plain; charset=utf-8\r\n'
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\n${type}content-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\ndate: ${new Date().toUTCString()}\r\n\r\n${body}`,
  )
}

function acceptance(request: IncomingMessage): string {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${HANDSHAKE_GUID}`).digest('base64')
  return (
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
    `sec-websocket-accept: ${accept}\r\ndate: ${new Date().toUTCString()}\r\n\r\n`
  )
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  return family === 'IPv6' ? `ws://[${address}]:${port}` : `ws://${address}:${port}`
}

function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}
