import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clientHello } from './test-kit/client-hello-bytes.ts'
import { ok, rawOrigin } from './test-kit/origins.ts'
import { eventually, Owner } from './test-kit/owner.ts'
import { rules, startProxy } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

const uncaught: unknown[] = []
const onUncaught = (error: unknown) => void uncaught.push(error)

/** Phases of a connection in which the client may vanish with a reset. */
const CLIENT_PHASES: [phase: string, act: (client: RawClient, originPort: number) => Promise<void>][] = [
  ['before it said anything', async () => {}],
  ['in the middle of a head', async (client) => void client.send('GET http://127.0.0.1/ HTTP/1.1\r\nHo')],
  ['while the owner is asked', async (client) => void client.send(connectTo('unknown.test:443'))],
  ['while a request is asked about', async (client) => void client.send(get('http://unknown.test/'))],
  ['while dialling', async (client, port) => void client.send(connectTo(`127.0.0.1:${port}`))],
  [
    'right after the tunnel stands',
    async (client, port) => {
      client.send(connectTo(`127.0.0.1:${port}`))
      await client.answer('HEAD')
    },
  ],
  [
    'in the middle of a TLS greeting',
    async (client, port) => {
      client.send(connectTo(`127.0.0.1:${port}`))
      await client.answer('HEAD')
      client.send(clientHello('a.test').subarray(0, 50))
    },
  ],
  [
    'with a request body under way',
    async (client, port) =>
      void client.send(
        `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 100000\r\n\r\npart`,
      ),
  ],
  [
    'with an answer under way',
    async (client, port) => {
      client.send(get(`http://127.0.0.1:${port}/flood`))
      await client.take(1000)
    },
  ],
  [
    'during an upgrade',
    async (client, port) =>
      void client.send(
        get(`ws://127.0.0.1:${port}/`, 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n'),
      ),
  ],
  ['in the middle of a SOCKS greeting', async (client) => void client.send(Buffer.from([5, 3, 0]))],
  ['in the middle of a SOCKS request', async (client) => void client.send(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127]))],
  ['with a UDP association', async (client) => void client.send(Buffer.from([5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]))],
  ['in the middle of a preface', async (client) => void client.send(Buffer.from('\0GHP', 'latin1'))],
]

/** What an origin may do instead of answering. */
const ORIGIN_BEHAVIOURS = [
  'at once',
  'after the head',
  'in the middle of a head',
  'in the middle of a body',
  'after an upgrade',
] as const

describe('P44 resets at every phase', () => {
  beforeEach(() => {
    uncaught.length = 0
    process.on('uncaughtException', onUncaught)
    process.on('unhandledRejection', onUncaught)
  })
  afterEach(() => {
    process.off('uncaughtException', onUncaught)
    process.off('unhandledRejection', onUncaught)
  })

  it.each(CLIENT_PHASES)('of the client, %s: the proxy lives on and nothing stays open', async (_phase, act) => {
    const origin = await rawOrigin((socket) => {
      // A reset that overtakes the accept looks like an end; origins answer that with theirs.
      socket.on('end', () => socket.end())
      socket.on('data', (bytes: Buffer) => {
        if (bytes.includes('Upgrade'))
          setTimeout(() => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nframes'), 30)
        if (!bytes.includes('/flood')) return
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        for (let n = 0; n < 200; n++) socket.write(Buffer.alloc(100_000))
      })
    })
    const owner = new Owner()
    const { httpPort, facts } = await startProxy({
      rules: rules('allow 127.0.0.1'),
      settings: { unknownHost: 'ask' },
      askHost: owner.ask,
    })
    for (let n = 0; n < 5; n++) {
      const client = await RawClient.open(httpPort)
      await act(client, origin.port)
      if (n % 2 === 1) await new Promise((resolve) => setTimeout(resolve, 10))
      client.socket.resetAndDestroy()
    }
    const after = await RawClient.open(httpPort)
    expect((await after.send(get('http://10.0.0.1/')).answer()).status).toBe(403)
    await eventually(() => origin.sockets.size === 0)
    await eventually(() =>
      facts().every(({ state }) => state === 'closed' || state === 'blocked' || state === 'failed'),
    )
    expect(uncaught).toEqual([])
  })

  it.each(ORIGIN_BEHAVIOURS)('of the origin, %s: the client is told and the proxy lives on', async (when) => {
    const origin = await rawOrigin((socket) => {
      if (when === 'at once') return void socket.resetAndDestroy()
      socket.once('data', () => {
        if (when === 'in the middle of a head') socket.write('HTTP/1.1 200 OK\r\nX: ')
        if (when === 'in the middle of a body') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart')
        if (when === 'after an upgrade')
          socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
        setTimeout(() => socket.resetAndDestroy(), 20)
      })
    })
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n'
    for (const request of [
      get(`http://127.0.0.1:${origin.port}/`, when === 'after an upgrade' ? upgrade : ''),
      `${connectTo(`127.0.0.1:${origin.port}`)}hello`,
    ]) {
      const client = await RawClient.open(httpPort)
      client.send(request)
      const outcome = await client.answer().catch((error: Error) => error)
      // Torn answers end abruptly; before that there is a 502 or the tunnel that stood already.
      if (!(outcome instanceof Error)) expect([101, 200, 502]).toContain(outcome.status)
      client.destroy()
    }
    expect(uncaught).toEqual([])
  })

  it('many at once, mixed with good traffic, which is not disturbed', async () => {
    const origin = await rawOrigin((socket) =>
      socket.on('data', () => {
        if (Math.random() < 0.3) socket.resetAndDestroy()
        else socket.write(ok('fine'))
      }),
    )
    const good = await rawOrigin((socket) => socket.on('data', () => socket.write(ok('good'))))
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
    const steady = await RawClient.open(httpPort)
    for (let round = 0; round < 30; round++) {
      const clients = await Promise.all(Array.from({ length: 10 }, () => RawClient.open(httpPort)))
      for (const [n, client] of clients.entries()) {
        client.send(n % 2 === 0 ? get(`http://127.0.0.1:${origin.port}/`) : `${connectTo(`127.0.0.1:${origin.port}`)}x`)
        if (n % 3 === 0) client.socket.resetAndDestroy()
      }
      steady.send(get(`http://127.0.0.1:${good.port}/`))
      expect((await steady.answer()).body.toString()).toBe('good')
      for (const client of clients) client.destroy()
    }
    expect(uncaught).toEqual([])
  })
})
