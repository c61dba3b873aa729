import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { parseInspection } from '../inspection/inspection-config.ts'
import { h2Through, rawThrough, tunnelThrough } from '../test-kit/inspected-client.ts'
import { echoOrigin, httpOrigin, rawOrigin } from '../test-kit/origins.ts'
import { rules, startProxy, type FixtureOptions, type ProxyFixture } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'
import { h2Origin, httpsOrigin, ORIGIN_ROOTS } from '../test-kit/tls-origins.ts'
import { tcpBinding } from '../../tcp/tcp-binding.ts'

/** As in a runtime whose handles cannot be reached. */
vi.mock('../../tcp/tcp-binding.ts', () => ({ tcpBinding: vi.fn(() => undefined), listeningHandle: () => undefined }))

const BODY = Buffer.alloc(6 * 1024 * 1024, 'body of some MiB ')
const DIGEST = createHash('sha256').update(BODY).digest('hex')
const inspection = parseInspection({ inspect_all: true }, undefined, {})

const start = (options: FixtureOptions = {}): Promise<ProxyFixture> =>
  startProxy({ rules: rules('allow 127.0.0.1'), platformRoots: ORIGIN_ROOTS, ...options })

/** Tells a POST the digest of its body, and gives a GET the body. */
function serve(request: IncomingMessage, response: ServerResponse): void {
  const hash = createHash('sha256')
  request.on('data', (bytes: Buffer) => hash.update(bytes))
  request.on('end', () => response.end(request.method === 'POST' ? hash.digest('hex') : BODY))
}

beforeEach(() => void vi.mocked(tcpBinding).mockClear())

describe('a proxy by node:net alone', () => {
  it('forwards requests and answers of some MiB', async () => {
    const origin = await httpOrigin(serve)
    const { httpPort } = await start()
    const client = await RawClient.open(httpPort)
    const url = `http://127.0.0.1:${origin.port}/`
    const answer = await client.send(get(url)).answer()
    expect([answer.status, answer.body.equals(BODY)]).toEqual([200, true])
    client
      .send(`POST ${url} HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\nContent-Length: ${BODY.length}\r\n\r\n`)
      .send(BODY)
    expect((await client.answer()).body.toString()).toBe(DIGEST)
    // Asked for the listener, and for each connection to the origin.
    expect(vi.mocked(tcpBinding).mock.calls.length).toBeGreaterThan(2)
  })

  it.each(['CONNECT', 'SOCKS5'])('carries a tunnel by %s, up and down, and its ends', async (how) => {
    const origin = await echoOrigin()
    const fixture = await start()
    let client: RawClient
    if (how === 'CONNECT') client = await tunnelThrough(fixture, `127.0.0.1:${origin.port}`)
    else {
      client = await RawClient.open(fixture.socksPort)
      client.send(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, origin.port >> 8, origin.port & 255]))
      expect([...(await client.take(2))]).toEqual([5, 0])
      expect([...(await client.take(10))].slice(0, 4)).toEqual([5, 0, 0, 1])
    }
    client.send(BODY).socket.end()
    await client.end()
    expect(client.received.equals(BODY)).toBe(true)
    expect(await fixture.factsWhere(({ state }) => state === 'closed')).toMatchObject({
      bytesIn: BODY.length,
      bytesOut: BODY.length,
    })
  })

  it('passes a reset on', async () => {
    const origin = await rawOrigin((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const client = await tunnelThrough(await start(), `127.0.0.1:${origin.port}`)
    const error = new Promise<NodeJS.ErrnoException>((resolve) => client.socket.once('error', resolve))
    client.send('x')
    expect((await error).code).toBe('ECONNRESET')
  })

  it('inspects HTTPS over HTTP/1.1', async () => {
    const origin = await httpsOrigin(serve)
    const fixture = await start({ settings: { inspection } })
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    const answer = await client.send(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\n\r\n`).answer()
    expect([answer.status, answer.body.equals(BODY)]).toEqual([200, true])
    expect(await fixture.factsWhere(({ inspected }) => inspected === true)).toMatchObject({ host: '127.0.0.1' })
  })

  it('inspects HTTPS over HTTP/2', async () => {
    const { server, port } = await h2Origin()
    server.on('request', serve as never)
    const session = await h2Through(await start({ settings: { inspection } }), `127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/' })
    const parts: Buffer[] = []
    stream.on('data', (part: Buffer) => parts.push(part))
    await new Promise((resolve) => stream.once('close', resolve))
    expect(Buffer.concat(parts).equals(BODY)).toBe(true)
  })

  it('carries a WebSocket', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => socket.on('message', (message) => socket.send(message)))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      sockets.close()
      server.close()
      server.closeAllConnections()
    })
    const { httpPort } = await start()
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
      createConnection: () => connect(httpPort, '127.0.0.1'),
    })
    onTestFinished(() => client.terminate())
    const echo = new Promise<Buffer>((resolve) => client.on('message', (message) => resolve(message as Buffer)))
    client.on('open', () => client.send(BODY))
    expect((await echo).equals(BODY)).toBe(true)
  })
})
