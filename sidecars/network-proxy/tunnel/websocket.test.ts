import { createServer } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { rawOrigin, scriptedOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'

const ALLOW = rules('allow 127.0.0.1')
const UPGRADE =
  'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n'

describe('WebSocket on the plain listener', () => {
  it('a real client talks to a real server through it', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket, request) => {
      socket.send(`hello ${request.headers.origin}`)
      socket.on('message', (message) => socket.send(`echo ${String(message)}`))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      sockets.close()
      server.close()
      server.closeAllConnections()
    })
    const { port } = server.address() as { port: number }
    const { httpPort, factsWhere } = await startProxy({ rules: ALLOW })
    // `ws` sends origin form with the right Host, as a client of a forwarding proxy may.
    const client = new WebSocket(`ws://127.0.0.1:${port}/chat`, {
      createConnection: () => connect(httpPort, '127.0.0.1'),
      origin: 'https://page.test',
    })
    const messages: string[] = []
    const got = new Promise<void>((resolve) =>
      client.on('message', (message) => {
        messages.push(String(message))
        if (messages.length === 2) resolve()
      }),
    )
    client.on('open', () => client.send('x'))
    await got
    expect(messages).toEqual(['hello https://page.test', 'echo x'])
    client.close()
    expect(await factsWhere((facts) => facts.state === 'closed')).toMatchObject({
      protocol: 'websocket',
      method: 'GET',
    })
  })

  it('bytes that come with the switch arrive, in both directions', async () => {
    const origin = await rawOrigin((socket) => {
      let seen = ''
      socket.on('data', (bytes: Buffer) => {
        seen += bytes.toString('latin1')
        if (seen.includes('\r\n\r\n') && !seen.includes('early-client'))
          socket.write(
            'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly-server',
          )
        else socket.write('ok')
      })
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(get(`ws://127.0.0.1:${origin.port}/`, UPGRADE))
    expect((await client.answer('HEAD')).status).toBe(101)
    expect((await client.take(12)).toString()).toBe('early-server')
    client.send('early-client')
    expect((await client.take(2)).toString()).toBe('ok')
  })

  it('P47 an origin that refuses the upgrade is heard out, and the connection stays HTTP', async () => {
    const origin = await scriptedOrigin(() => 'HTTP/1.1 403 No\r\nContent-Length: 4\r\nX-Why: login\r\n\r\nnope')
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    for (let n = 0; n < 2; n++) {
      const answer = await client.send(get(`ws://127.0.0.1:${origin.port}/`, UPGRADE)).answer()
      expect([answer.status, answer.headers['x-why'], answer.body.toString()]).toEqual([403, 'login', 'nope'])
    }
    expect((await client.send(get(`http://127.0.0.1:${origin.port}/`)).answer()).status).toBe(403)
  })

  it('other upgrades are not passed on', async () => {
    const seen: string[] = []
    const origin = await scriptedOrigin((request) => {
      seen.push(request)
      return 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(
      get(
        `http://127.0.0.1:${origin.port}/`,
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n',
      ),
    )
    expect((await client.answer()).status).toBe(200)
    expect(seen[0]).not.toMatch(/upgrade|h2c|http2/i)
  })

  it('is a write, so limited mode refuses it unless the owner says otherwise', async () => {
    const origin = await rawOrigin((socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
      ),
    )
    for (const [limitedAllowsWebsocket, status] of [
      [false, 403],
      [true, 101],
    ] as const) {
      const { httpPort } = await startProxy({ rules: ALLOW, settings: { mode: 'limited', limitedAllowsWebsocket } })
      const client = await RawClient.open(httpPort)
      expect((await client.send(get(`ws://127.0.0.1:${origin.port}/`, UPGRADE)).answer()).status).toBe(status)
    }
  })
})
