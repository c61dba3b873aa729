import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ClientConnection } from '../client-connection.ts'
import { TcpUpstream } from '../dial/tcp-upstream.ts'
import type { UpstreamConnection } from '../dial/upstream-connection.ts'
import { Listener } from '../listener.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import { rawOrigin } from '../test-kit/origins.ts'
import { eventually } from '../test-kit/owner.ts'
import { Exchange, type ExchangeOutcome } from './exchange.ts'
import { parseRequestHead } from './request-head.ts'
import { requestTarget } from './request-target.ts'

/** More than the kernel keeps for a client that does not read. */
const LONG_BYTES = 16 * 1024 * 1024
const PIECE = Buffer.alloc(16 * 1024, 'f')

/** Bytes in which every place looks different. */
const pattern = Buffer.from(Uint32Array.from({ length: LONG_BYTES / 4 }, (_, at) => at * 2_654_435_761).buffer)

/** A client that has not read anything yet, and the proxy's end of its connection. */
async function slowClient(): Promise<{ socket: Socket; connection: ClientConnection }> {
  let accept: (connection: ClientConnection) => void
  const accepted = new Promise<ClientConnection>((resolve) => (accept = resolve))
  const listener = await Listener.open({ host: '127.0.0.1', port: 0 }, (connection) => accept(connection))
  onTestFinished(() => listener.close())
  const socket = connect({ port: listener.port, host: '127.0.0.1', allowHalfOpen: true }).pause()
  onTestFinished(() => void socket.destroy())
  const connection = await accepted
  onTestFinished(() => void connection.socket.destroy())
  return { socket, connection }
}

/** Sends until something has to wait, or, with `behind`, until the sender should. */
function fill({ socket }: ClientConnection, { behind = false } = {}): void {
  const isFull = () => (behind ? socket.writableNeedDrain : socket.writableLength > 0)
  while (!isFull()) socket.write(PIECE)
}

/** Reads exactly so many bytes. */
async function read(socket: Socket, count: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece)
    bytes += piece.length
  })
  socket.resume()
  await eventually(() => bytes >= count)
  return Buffer.concat(pieces)
}

function exchange(upstream: UpstreamConnection, client: ClientConnection, path: string): Promise<ExchangeOutcome> {
  const head = parseRequestHead(`GET http://127.0.0.1${path} HTTP/1.1\r\nHost: 127.0.0.1`)
  const record = { bytesIn: 0, bytesOut: 0 } as ConnectionRecord
  return new Promise((resolve, reject) => {
    const fail = (_exchange: Exchange, problem: string) => reject(new Error(problem))
    const owner = {
      exchangeDone: (_exchange: Exchange, outcome: ExchangeOutcome) => resolve(outcome),
      exchangeStale: (one: Exchange) => fail(one, 'stale'),
      exchangeFailed: fail,
      exchangeTorn: fail,
      exchangeUpgraded: (one: Exchange) => fail(one, 'upgraded'),
    }
    const parts = { head, target: requestTarget(head), upstream, record, client, form: {}, reused: false }
    new Exchange(parts, owner).sendHead()
  })
}

async function origin(): Promise<UpstreamConnection> {
  const { port } = await rawOrigin((socket) => {
    socket.on('data', (request: Buffer) => {
      if (request.includes('/long')) {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${LONG_BYTES}\r\n\r\n`)
        socket.write(pattern)
      } else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nshort')
    })
  })
  const upstream = new TcpUpstream('127.0.0.1', port)
  onTestFinished(() => upstream.destroy())
  await new Promise<void>((resolve) => upstream.socket.once('connect', resolve))
  return upstream
}

describe('an origin connection that goes on to the next client while the one before is slow', () => {
  it('gives the next one every byte, also once the one before has read its own', async () => {
    const [first, second, upstream] = [await slowClient(), await slowClient(), await origin()]
    fill(first.connection)
    expect(await exchange(upstream, first.connection, '/short')).toMatchObject({ upstreamReusable: true })
    expect(first.connection.socket.writableLength).toBeGreaterThan(0)
    const done = exchange(upstream, second.connection, '/long')
    await eventually(() => second.connection.socket.writableLength > 0)
    // Bytes of the origin wait for the second client in memory that may not be read into.
    first.socket.resume()
    await eventually(() => first.connection.socket.writableLength === 0)
    const all = await read(second.socket, LONG_BYTES)
    await done
    expect(all.subarray(-LONG_BYTES).equals(pattern)).toBe(true)
  })

  it('does not wait for the one before', async () => {
    const [first, second, upstream] = [await slowClient(), await slowClient(), await origin()]
    fill(first.connection, { behind: true })
    expect(await exchange(upstream, first.connection, '/short')).toMatchObject({ upstreamReusable: true })
    second.socket.resume()
    expect(await exchange(upstream, second.connection, '/short')).toMatchObject({ upstreamReusable: true })
    expect(first.connection.socket.writableNeedDrain).toBe(true)
  })
})
