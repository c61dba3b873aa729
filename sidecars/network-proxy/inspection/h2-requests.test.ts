import { createHash, randomBytes } from 'node:crypto'
import { constants, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { h2Through } from '../test-kit/inspected-client.ts'
import { rules, startProxy, type FixtureOptions, type ProxyFixture } from '../test-kit/proxy-fixture.ts'
import { h2Origin, httpsOrigin, ORIGIN_ROOTS } from '../test-kit/tls-origins.ts'
import { parseInspection } from './inspection-config.ts'

const ALLOW = rules('allow 127.0.0.1')

function startInspecting(options: FixtureOptions = {}): Promise<ProxyFixture> {
  const inspection = parseInspection({ inspect_all: true }, undefined, {})
  return startProxy({
    rules: ALLOW,
    platformRoots: ORIGIN_ROOTS,
    ...options,
    settings: { inspection, ...options.settings },
  })
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  trailers: IncomingHttpHeaders
}

function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined })
    const parts: Buffer[] = []
    let got: IncomingHttpHeaders & { ':status'?: number } = {}
    let trailers: IncomingHttpHeaders = {}
    stream.on('response', (received) => (got = received))
    stream.on('trailers', (received) => (trailers = received))
    stream.on('data', (part: Buffer) => parts.push(part))
    stream.on('error', reject)
    stream.on('close', () =>
      resolve({ status: got[':status'] ?? 0, headers: got, body: Buffer.concat(parts), trailers }),
    )
    if (body) stream.end(body)
  })
}

describe.each(['HTTP/2', 'HTTP/1.1'])('HTTP/2 requests to an origin that speaks %s', (version) => {
  /** The same answers from both kinds. */
  async function origin(serve: Parameters<typeof httpsOrigin>[0]): Promise<number> {
    if (version === 'HTTP/1.1') return (await httpsOrigin(serve)).port
    const { server, port } = await h2Origin()
    server.on('request', serve as never)
    return port
  }

  it('arrive with method, path, fields and body, and so does the answer', async () => {
    const port = await origin((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        response.setHeader('x-seen', `${request.httpVersion} ${request.method} ${request.url}`)
        response.setHeader('set-cookie', ['a=1', 'b=2'])
        response.setHeader('x-cookie', request.headers.cookie ?? '')
        response.statusCode = 201
        response.end(Buffer.concat(parts))
      })
    })
    const fixture = await startInspecting()
    const session = await h2Through(fixture, `127.0.0.1:${port}`)
    const answer = await ask(
      session,
      { ':method': 'PUT', ':path': '/a?b=c', cookie: ['x=1', 'y=2'], 'x-own': 'kept' },
      Buffer.from('body'),
    )
    expect(answer).toMatchObject({
      status: 201,
      headers: {
        'x-seen': `${version.slice(5).replace(/^2$/, '2.0')} PUT /a?b=c`,
        'set-cookie': ['a=1', 'b=2'],
        'x-cookie': 'x=1; y=2',
      },
    })
    expect(answer.body.toString()).toBe('body')
    await fixture.factsWhere(({ inspected, bytesIn, bytesOut }) => inspected && bytesIn === 4 && bytesOut === 4)
  })

  it('twenty at once are answered each with its own', async () => {
    const port = await origin((request, response) => response.end(request.url))
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    const paths = Array.from({ length: 20 }, (_, n) => `/${n}`)
    const answers = await Promise.all(paths.map((path) => ask(session, { ':path': path })))
    expect(answers.map(({ body }) => body.toString())).toEqual(paths)
  })

  it('trailers of the answer arrive', async () => {
    const port = await origin((_request, response) => {
      response.setHeader('trailer', 'x-sum')
      response.write('data')
      response.addTrailers({ 'x-sum': '42' })
      response.end()
    })
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    expect(await ask(session, { ':path': '/' })).toMatchObject({ status: 200, trailers: { 'x-sum': '42' } })
  })

  it('large bodies are the same on both sides', async () => {
    const port = await origin((request, response) => request.pipe(response))
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    const body = randomBytes(6 * 1024 * 1024)
    const answer = await ask(session, { ':method': 'POST', ':path': '/' }, body)
    expect(createHash('sha256').update(answer.body).digest('hex')).toBe(createHash('sha256').update(body).digest('hex'))
  })

  it.each(['HEAD', 'GET'])('%s with an answer that has no body', async (method) => {
    const port = await origin((_request, response) => response.writeHead(method === 'HEAD' ? 200 : 304).end())
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    expect(await ask(session, { ':method': method, ':path': '/' })).toMatchObject({
      status: method === 'HEAD' ? 200 : 304,
    })
  })

  it('a stream that the client gives up is given up at the origin', async () => {
    let noteClosed = () => {}
    const closed = new Promise<void>((resolve) => (noteClosed = resolve))
    const port = await origin((_request, response) => {
      response.write('begun')
      response.on('close', noteClosed)
    })
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/' })
    await new Promise((resolve) => stream.once('data', resolve))
    stream.close(constants.NGHTTP2_CANCEL)
    await closed
  })

  it('an answer that breaks off resets the stream, not the connection', async () => {
    const port = await origin((request, response) => {
      if (request.url === '/whole') return response.end('whole')
      response.writeHead(200, { 'content-length': '100' })
      response.write('only this')
      setImmediate(() =>
        version === 'HTTP/2'
          ? (response as never as { stream: { close(code: number): void } }).stream.close(2)
          : response.destroy(),
      )
    })
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    await expect(ask(session, { ':path': '/torn' })).rejects.toThrow()
    expect((await ask(session, { ':path': '/whole' })).body.toString()).toBe('whole')
  })
})

describe('HTTP/2 requests inside an inspected tunnel', () => {
  it('are judged each for itself', async () => {
    const { server, port } = await h2Origin()
    const reached: (string | undefined)[] = []
    server.on('request', (request, response) => {
      reached.push(request.method)
      response.end('ok')
    })
    const fixture = await startInspecting({ settings: { mode: 'limited' } })
    const session = await h2Through(fixture, `127.0.0.1:${port}`)
    expect(await ask(session, { ':path': '/' })).toMatchObject({ status: 200 })
    const refused = await ask(session, { ':method': 'POST', ':path': '/' }, Buffer.from('x'))
    expect(refused).toMatchObject({
      status: 403,
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'x-proxy-error': 'blocked-by-method-policy',
        'x-gatehouse-reason': 'method_not_allowed',
      },
    })
    fixture.proxy.setRules(2, rules('deny 127.0.0.1'))
    expect(await ask(session, { ':path': '/' })).toMatchObject({
      status: 403,
      headers: { 'x-gatehouse-reason': 'denied' },
    })
    expect(reached).toEqual(['GET'])
    expect(await fixture.factsWhere(({ reason }) => reason === 'denied')).toMatchObject({
      protocol: 'https',
      inspected: true,
    })
  })

  it.each<[string, OutgoingHttpHeaders, number]>([
    ['another authority', { ':authority': 'elsewhere.test' }, 400],
    ['another port', { ':authority': '127.0.0.1:1' }, 400],
    ['a host beside the authority', { host: 'elsewhere.test' }, 400],
    ['another scheme', { ':scheme': 'http' }, 400],
    ['TRACE', { ':method': 'TRACE' }, 405],
  ])('with %s are refused', async (_what, headers, status) => {
    const { server, port } = await h2Origin()
    let reached = 0
    server.on('request', () => reached++)
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    expect((await ask(session, { ':path': '/', ':authority': `127.0.0.1:${port}`, ...headers })).status).toBe(status)
    expect(reached).toBe(0)
  })

  it('to an origin that is not there are 502, naming the hop, and the connection lives on', async () => {
    const session = await h2Through(await startInspecting(), '127.0.0.1:9')
    for (let n = 0; n < 2; n++) {
      const { status, body } = await ask(session, { ':path': '/' })
      expect([status, body.toString()]).toEqual([502, 'Gatehouse proxy: 127.0.0.1:9 refused the connection.\n'])
    }
  })

  it('to a name that resolves to a private address are refused', async () => {
    const fixture = await startInspecting({ rules: rules('allow a.test'), names: { 'a.test': ['10.0.0.1'] } })
    const session = await h2Through(fixture, 'a.test:443')
    expect(await ask(session, { ':path': '/' })).toMatchObject({
      status: 403,
      headers: { 'x-gatehouse-reason': 'not_allowed_local' },
    })
  })

  it('go on with a new connection after the origin went away', async () => {
    const { server, port } = await h2Origin()
    server.on('request', (request, response) => {
      response.end('ok')
      if (request.url === '/bye') response.stream.session?.close()
    })
    const session = await h2Through(await startInspecting(), `127.0.0.1:${port}`)
    for (const path of ['/', '/bye', '/']) expect((await ask(session, { ':path': path })).body.toString()).toBe('ok')
  })

  it('end with the tunnel when the lease or the proxy ends', async () => {
    const { server, port } = await h2Origin()
    server.on('request', (_request, response) => response.write('begun'))
    const fixture = await startInspecting()
    const session = await h2Through(fixture, `127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    await new Promise((resolve) => stream.once('data', resolve))
    const closed = new Promise((resolve) => session.once('close', resolve))
    await fixture.proxy.close(0)
    await closed
  })
})
