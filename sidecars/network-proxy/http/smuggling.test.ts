import { describe, expect, it } from 'vitest'
import { ok, scriptedOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'

/** Whatever a shape is meant to smuggle, this path must never arrive at an origin. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n'

const shapes: [shape: string, head: (authority: string) => string, body: string][] = [
  [
    'CL and TE',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'TE and CL',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'two CLs',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nContent-Length: 0\r\nContent-Length: 40\r\n\r\n`,
    SMUGGLED,
  ],
  [
    'a TE behind a space',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding : chunked\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'a folded TE',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding:\r\n chunked\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'a TE with a vertical tab',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding:\x0bchunked\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'xchunked',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: xchunked\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'chunked, identity',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: chunked, identity\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'two TEs',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'a TE behind a bare LF',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n`,
    `0\r\n\r\n${SMUGGLED}`,
  ],
  ['a head ended by bare LFs', (a) => `GET http://${a}/ HTTP/1.1\nHost: ${a}\n\n`, SMUGGLED],
  ['a NUL in a name', (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nContent\0-Length: 5\r\n\r\n`, SMUGGLED],
  ['a signed CL', (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nContent-Length: +40\r\n\r\n`, SMUGGLED],
  [
    'a chunk size with a prefix',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `0x28\r\n${SMUGGLED}`,
  ],
  [
    'a chunk ended by a bare LF',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `1\r\nZ\n0\r\n\r\n${SMUGGLED}`,
  ],
  [
    'a chunk longer than its size',
    (a) => `POST http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `2\r\nZZZ\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  ['a request line with an extra part', (a) => `GET http://${a}/ x HTTP/1.1\r\nHost: ${a}\r\n\r\n`, SMUGGLED],
  [
    'a body in an upgrade',
    (a) =>
      `GET http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n`,
    SMUGGLED,
  ],
  ['a body in a CONNECT', (a) => `CONNECT ${a} HTTP/1.1\r\nHost: ${a}\r\nContent-Length: 5\r\n\r\n`, SMUGGLED],
  ['two Hosts', (a) => `GET http://${a}/ HTTP/1.1\r\nHost: ${a}\r\nHost: evil.test\r\n\r\n`, SMUGGLED],
  ['another Host', (a) => `GET http://${a}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`, SMUGGLED],
]

describe('shapes that two parsers could read as different requests', () => {
  it.each(shapes)('%s: refused, the connection ends and nothing is smuggled', async (_shape, head, body) => {
    const seen: string[] = []
    const origin = await scriptedOrigin((request) => {
      seen.push(request)
      return ok('x')
    })
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
    const client = await RawClient.open(httpPort)
    client.send(head(`127.0.0.1:${origin.port}`) + body)
    await client.end()
    expect(client.received.toString('latin1')).toMatch(/^HTTP\/1\.1 400 /)
    expect(seen.filter((request) => request.includes('/smuggled'))).toEqual([])
  })

  it('an allowed connection does not carry a request to a denied host', async () => {
    const hits: string[] = []
    const origin = await scriptedOrigin((request) => {
      hits.push(request)
      return ok('x')
    })
    const denied = await scriptedOrigin((request) => {
      hits.push(request)
      return ok('x')
    }, '127.0.0.2')
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1', 'deny 127.0.0.2') })
    const client = await RawClient.open(httpPort)
    client.send(get(`http://127.0.0.1:${origin.port}/ok`) + get(`http://127.0.0.2:${denied.port}/no`))
    expect([(await client.answer()).status, (await client.answer()).status]).toEqual([200, 403])
    expect(hits).toHaveLength(1)
    expect(denied.connections).toBe(0)
  })

  it('an answer that goes on beyond its length is not given to the next client', async () => {
    const origin = await scriptedOrigin(() => `${ok('x')}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison`)
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
    for (let n = 0; n < 3; n++) {
      const client = await RawClient.open(httpPort)
      expect((await client.send(get(`http://127.0.0.1:${origin.port}/`)).answer()).body.toString()).toBe('x')
    }
    expect(origin.connections).toBe(3)
  })

  it('a head larger than 64 KiB is 431', async () => {
    const { httpPort } = await startProxy()
    const client = await RawClient.open(httpPort)
    client.send(`GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: ${'y'.repeat(70_000)}`)
    expect((await client.answer()).status).toBe(431)
    await client.end()
  })

  it('a request in single bytes is one request', async () => {
    const origin = await scriptedOrigin((request) => ok(request.split(' ')[1]!))
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
    const client = await RawClient.open(httpPort)
    await client.sendSlowly(Buffer.from(`\r\n${get(`http://127.0.0.1:${origin.port}/slow`)}`), 1)
    expect((await client.answer()).body.toString()).toBe('/slow')
  })
})
