/** Linked pairs of transports over every carrier, for suites that must hold on all of them. */
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { MessageChannel } from 'node:worker_threads'
import { WebSocket, WebSocketServer } from 'ws'
import { LinesTransport } from './lines-transport.ts'
import { memoryPair } from './memory-transport.ts'
import type { QueueLimits } from './outgoing-gauge.ts'
import { PortTransport, workerPortCarrier } from './port-transport.ts'
import type { Transport } from './transport.ts'
import { connectUnix, listenUnix, socketTransport } from './unix-socket.ts'
import { WebSocketTransport } from './websocket-transport.ts'

export interface LinkedTransports {
  a: Transport
  b: Transport
  /** Puts bytes on the wire towards `b` beside `a`; absent where a carrier has no bytes. */
  inject?: (bytes: Uint8Array) => void
  /** Breaks the link the rude way. */
  cut: () => void
  dispose: () => Promise<void>
}
export type Link = (limits?: Partial<QueueLimits>) => Promise<LinkedTransports>

const linkMemory: Link = async (limits) => {
  const [a, b] = memoryPair('memory', limits)
  return { a, b, cut: () => a.close(), dispose: async () => a.close() }
}

const linkStreams: Link = async (limits) => {
  const [toB, toA] = [new PassThrough(), new PassThrough()]
  const a = new LinesTransport('lines a', toA, toB, limits)
  const b = new LinesTransport('lines b', toB, toA, limits)
  return { a, b, inject: (bytes) => toB.write(bytes), cut: () => toB.destroy(), dispose: async () => a.close() }
}

const linkUnixSocket: Link = async (limits) => {
  const path = join(mkdtempSync(join(tmpdir(), 'gh-rpc-')), 'test.sock')
  let accept: (socket: Socket) => void
  const accepted = new Promise<Socket>((resolve) => (accept = resolve))
  const listener = await listenUnix(path, (socket) => accept(socket))
  const near = await connectUnix(path)
  const far = await accepted
  const a = socketTransport('unix a', near, limits)
  const b = socketTransport('unix b', far, limits)
  return { a, b, inject: (bytes) => near.write(bytes), cut: () => near.destroy(), dispose: () => listener.close() }
}

const linkWebSocket: Link = async (limits) => {
  const http = createServer()
  const server = new WebSocketServer({ server: http, maxPayload: 64 * 1024 * 1024 })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const accepted = new Promise<WebSocket>((resolve) => server.once('connection', resolve))
  const near = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`)
  await new Promise<void>((resolve) => near.once('open', () => resolve()))
  const a = new WebSocketTransport('ws a', near, limits)
  const b = new WebSocketTransport('ws b', await accepted, limits)
  const dispose = () =>
    new Promise<void>((resolve) => {
      for (const client of server.clients) client.terminate()
      near.terminate()
      server.close(() => http.close(() => resolve()))
    })
  return { a, b, inject: (bytes) => near.send(bytes), cut: () => near.terminate(), dispose }
}

const linkPorts: Link = async (limits) => {
  const { port1, port2 } = new MessageChannel()
  const a = new PortTransport('port a', workerPortCarrier(port1), limits)
  const b = new PortTransport('port b', workerPortCarrier(port2), limits)
  return { a, b, cut: () => port1.close(), dispose: async () => port1.close() }
}

export const LINKS: Record<string, Link> = {
  'an in-memory pair': linkMemory,
  'JSON lines on streams': linkStreams,
  'a unix socket': linkUnixSocket,
  'a WebSocket': linkWebSocket,
  'a message port': linkPorts,
}
