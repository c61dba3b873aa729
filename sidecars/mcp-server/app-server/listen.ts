/** Where the app server listens: stdio, a loopback WebSocket, a unix socket that speaks WebSocket. */
import { chmodSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import { WebSocketTransport } from '../../rpc/websocket-transport.ts'
import type { Authorize } from '../../rpc/authorization.ts'
import type { Transport } from '../../rpc/transport.ts'

export type ListenAddress =
  | { kind: 'stdio' }
  | { kind: 'off' }
  | { kind: 'ws'; host: string; port: number }
  | { kind: 'unix'; path: string | null }

/** `--listen` cannot be used; says what can. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

export function parseListen(text: string): ListenAddress {
  if (text === 'stdio' || text === 'stdio://') return { kind: 'stdio' }
  if (text === 'off') return { kind: 'off' }
  if (text.startsWith('unix://')) return { kind: 'unix', path: text.slice('unix://'.length) || null }
  const match = /^ws:\/\/(\[[0-9a-fA-F:.]+\]|\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(text)
  if (!match || Number(match[2]) > 65_535)
    throw new ListenError(`--listen: "${text}" is none of stdio://, unix://PATH, ws://IP:PORT, off`)
  return { kind: 'ws', host: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) }
}

export interface Listener {
  url: string
  close(): Promise<void>
}

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

export interface ListenOptions {
  authorize: Authorize
  onConnection(transport: Transport): void
}

/** Rejects with the system's error, e.g. for a port in use. */
export async function listen(
  address: { kind: 'ws'; host: string; port: number } | { kind: 'unix'; path: string },
  options: ListenOptions,
): Promise<Listener> {
  const server = createServer((request, response) => answerPlain(request, response))
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
  })
  // Compression would only cost time on loopback, and is a way to blow up memory.
  const upgrades = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => undefined) // The transport gets its own listener once there is one.
    const refusal = refuse(request, options.authorize)
    if (refusal) return void socket.end(refusal)
    upgrades.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
      options.onConnection(new WebSocketTransport('app-server client', webSocket))
    })
  })
  if (address.kind === 'unix') await removeStaleSocket(address.path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const ready = () => {
      server.off('error', reject)
      resolve()
    }
    if (address.kind === 'unix') server.listen(address.path, ready)
    else server.listen(address.port, address.host, ready)
  })
  if (address.kind === 'unix') chmodSync(address.path, 0o600)
  return {
    url: address.kind === 'unix' ? `unix://${address.path}` : urlOf(server),
    close: () => close(server, sockets),
  }
}

function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  return `ws://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function close(server: Server, sockets: Set<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}

/** A browser always sends Origin: no page may reach a server that runs commands. */
function answerPlain(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '/').split('?')[0]
  const status =
    request.headers.origin !== undefined
      ? 403
      : path === '/readyz' || path === '/healthz'
        ? request.method === 'GET'
          ? 200
          : 405
        : path === '/'
          ? 400
          : 404
  response.writeHead(status, { 'content-length': 0 }).end()
}

function refuse(request: IncomingMessage, authorize: Authorize): string | null {
  const answer = (status: string, body: string) =>
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  if (request.headers.origin !== undefined) return answer('403 Forbidden', '')
  const problem = authorize(request.headers.authorization)
  return problem === undefined ? null : answer('401 Unauthorized', problem)
}

/** A socket file that nobody answers on is left over; one that answers is another server's. */
async function removeStaleSocket(path: string): Promise<void> {
  const live = await new Promise<boolean>((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
  if (live) throw new ListenError(`--listen: another server listens on ${path}`)
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
