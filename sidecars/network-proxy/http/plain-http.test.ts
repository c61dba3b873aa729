import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { httpOrigin, ok, rawOrigin, scriptedOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'

const ALLOW = rules('allow 127.0.0.1', 'deny 127.0.0.2')

describe('plain requests', () => {
  it('arrive in origin form with canonical Host, without what belongs to one hop', async () => {
    const seen: string[] = []
    const origin = await scriptedOrigin((request) => {
      seen.push(request)
      return ok('hi')
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(
      `GET http://127.1:${origin.port}/hop?x HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\nProxy-Authorization: Basic eA==\r\n` +
        'Proxy-Connection: keep-alive\r\nTE: trailers\r\nX-Foo: 1\r\nConnection: X-Foo, Host\r\nKeep-Alive: 5\r\nVia: 1.0 a\r\nX-Case: Kept\r\nx-case: twice\r\n\r\n',
    )
    expect((await client.answer()).body.toString()).toBe('hi')
    expect(seen).toEqual([
      `GET /hop?x HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\nVia: 1.0 a\r\nX-Case: Kept\r\nx-case: twice\r\n\r\n`,
    ])
  })

  it.each([
    ['http://127.0.0.2:1/', 'denied', 'blocked-by-denylist'],
    ['http://other.test/', 'not_allowed', 'blocked-by-allowlist'],
    ['http://10.0.0.1/', 'not_allowed_local', 'blocked-by-local-policy'],
    ['http://unresolvable.test/', 'dns_failed', 'blocked-by-local-policy'],
    ['http://private.test/', 'not_allowed_local', 'blocked-by-local-policy'],
  ])('to %s are refused with %s', async (url, reason, code) => {
    const { httpPort } = await startProxy({
      rules: [...ALLOW, ...rules('allow unresolvable.test', 'allow private.test')],
      names: { 'private.test': ['10.0.0.1'] },
    })
    const answer = await (await RawClient.open(httpPort)).send(get(url)).answer()
    expect(answer).toMatchObject({
      status: 403,
      headers: { 'content-type': 'application/json', 'x-proxy-error': code, 'x-gatehouse-reason': reason },
    })
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      status: 'blocked',
      host: new URL(url).hostname,
      reason,
      decision: 'deny',
      source: 'baseline_policy',
      protocol: 'http',
    })
  })

  it('P20 a refusal says that it is deliberate, which kind of rule it was and who can change it', async () => {
    const { httpPort } = await startProxy({ rules: ALLOW })
    const { phrase, body } = await (await RawClient.open(httpPort)).send(get('http://127.0.0.2/')).answer()
    expect(phrase).toBe('Blocked by Gatehouse policy')
    const { message } = JSON.parse(body.toString()) as { message: string }
    expect(message).toMatch(/deny rule .* block is deliberate.* owner of this machine/)
  })

  it('P11 a rule for one port leaves the others closed', async () => {
    const origin = await scriptedOrigin(() => ok('in'))
    const other = await scriptedOrigin(() => ok('out'))
    const { httpPort } = await startProxy({ rules: rules(`allow 127.0.0.1:${origin.port}`) })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get(`http://127.0.0.1:${origin.port}/`)).answer()).status).toBe(200)
    expect((await client.send(get(`http://127.0.0.1:${other.port}/`)).answer()).status).toBe(403)
    expect(other.connections).toBe(0)
  })

  it('P01 an exact literal passes both checks; a name that leads to the same address does not', async () => {
    const origin = await scriptedOrigin(() => ok('in'))
    const { httpPort } = await startProxy({
      rules: rules('allow 127.0.0.1', 'allow named.test'),
      names: { 'named.test': ['127.0.0.1'] },
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get(`http://127.0.0.1:${origin.port}/`)).answer()).status).toBe(200)
    const named = await client.send(get(`http://named.test:${origin.port}/`)).answer()
    expect([named.status, named.headers['x-gatehouse-reason']]).toEqual([403, 'not_allowed_local'])
  })

  it('a failed hop is named: 502, and the connection goes on', async () => {
    const { httpPort, factsWhere } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    const answer = await client.send(get('http://127.0.0.1:9/')).answer()
    expect(answer).toMatchObject({ status: 502, headers: { 'x-proxy-error': 'upstream-failure' } })
    expect(answer.body.toString()).toContain('127.0.0.1:9 refused the connection')
    await factsWhere((facts) => facts.state === 'failed' && facts.port === 9)
    expect((await client.send(get('http://127.0.0.2/')).answer()).status).toBe(403)
  })

  it('the proxy never calls itself', async () => {
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1', 'allow localhost') })
    for (const request of [
      get(`http://127.0.0.1:${httpPort}/`),
      `GET / HTTP/1.1\r\nHost: localhost:${httpPort}\r\n\r\n`,
    ]) {
      const answer = await (await RawClient.open(httpPort)).send(request).answer()
      expect(answer.headers['x-gatehouse-reason']).toBe('proxy_loop')
    }
  })

  it('origin form with a Host works like a reverse proxy, judged all the same', async () => {
    const origin = await scriptedOrigin((request) => ok(request.split('\r\n')[0]!))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(`GET /a HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\n\r\n`)
    expect((await client.answer()).body.toString()).toBe('GET /a HTTP/1.1')
    expect((await client.send('GET /a HTTP/1.1\r\nHost: other.test\r\n\r\n').answer()).status).toBe(403)
  })
})

describe('connections between requests', () => {
  it('pipelined requests are judged one by one and answered in order', async () => {
    const origin = await scriptedOrigin((request) => ok(request.split(' ')[1]!))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const base = `http://127.0.0.1:${origin.port}`
    const client = await RawClient.open(httpPort)
    client.send(get(`${base}/1`) + get(`http://127.0.0.2:${origin.port}/2`) + get(`${base}/3`) + get('http://x.test/4'))
    const answers = [await client.answer(), await client.answer(), await client.answer(), await client.answer()]
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 200, 403])
    expect(answers[2]!.body.toString()).toBe('/3')
  })

  it('P07 the verdict depends on host, port and rules, never on socket, credentials or what came before', async () => {
    const origin = await scriptedOrigin(() => ok('x'))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const allowed = get(`http://127.0.0.1:${origin.port}/`)
    const refused = (more: string) => `CONNECT unlisted.test:443 HTTP/1.1\r\nHost: unlisted.test:443\r\n${more}\r\n`
    let refusals = 0
    for (let n = 0; n < 200; n++) {
      const client = await RawClient.open(httpPort)
      if (n % 3 === 0) expect((await client.send(allowed).answer()).status).toBe(200)
      client.send((n % 5 === 0 ? allowed : '') + refused(n % 2 === 0 ? 'Proxy-Authorization: Basic bGVhc2U6\r\n' : ''))
      if (n % 5 === 0) expect((await client.answer()).status).toBe(200)
      if ((await client.answer()).status === 403) refusals++
      client.destroy()
    }
    expect(refusals).toBe(200)
  })

  it('origin connections are reused, a dead one is replaced without the client noticing', async () => {
    let dropNext = false
    const origin = await scriptedOrigin((_request, socket) => {
      if (dropNext) setImmediate(() => socket.destroy())
      return ok('x')
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const url = `http://127.0.0.1:${origin.port}/`
    const client = await RawClient.open(httpPort)
    for (let n = 0; n < 5; n++) expect((await client.send(get(url)).answer()).status).toBe(200)
    expect(origin.connections).toBe(1)
    dropNext = true
    for (let n = 0; n < 5; n++) expect((await client.send(get(url)).answer()).status).toBe(200)
    expect(origin.connections).toBeGreaterThan(1)
  })

  it('a request that must not be repeated is never sent twice', async () => {
    const bodies: string[] = []
    const origin = await scriptedOrigin((request, socket) => {
      if (!request.startsWith('POST')) return ok('x')
      bodies.push(request)
      socket.destroy()
      return ''
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const authority = `127.0.0.1:${origin.port}`
    const client = await RawClient.open(httpPort)
    await client.send(get(`http://${authority}/`)).answer()
    client.send(`POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: 2\r\n\r\nhi`)
    expect((await client.answer()).status).toBe(502)
    expect(bodies).toHaveLength(1)
  })

  it('HTTP/1.0 gets its answer and the end; with keep-alive it gets another turn', async () => {
    const origin = await scriptedOrigin(() => ok('x'))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const url = `http://127.0.0.1:${origin.port}/`
    const once = await RawClient.open(httpPort)
    const answer = await once.send(`GET ${url} HTTP/1.0\r\n\r\n`).answer()
    expect(answer.headers.connection).toBe('close')
    await once.end()
    const twice = await RawClient.open(httpPort)
    for (let n = 0; n < 2; n++)
      expect(
        (await twice.send(`GET ${url} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`).answer()).headers.connection,
      ).toBe('keep-alive')
  })

  it('a client that ended its side still gets its answer', async () => {
    const origin = await rawOrigin((socket) =>
      socket.once('data', () => setTimeout(() => socket.write(ok('late')), 50)),
    )
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(get(`http://127.0.0.1:${origin.port}/`))
    client.socket.end()
    expect((await client.answer()).body.toString()).toBe('late')
    await client.end()
  })

  it('the body of a refused request is skipped when it is small and ends the connection when it is not', async () => {
    const { httpPort } = await startProxy({ rules: ALLOW })
    const post = (bytes: number) =>
      `POST http://127.0.0.2/ HTTP/1.1\r\nHost: 127.0.0.2\r\nContent-Length: ${bytes}\r\n\r\n`
    const small = await RawClient.open(httpPort)
    small.send(`${post(3)}abc${get('http://127.0.0.2/')}`)
    expect([(await small.answer()).status, (await small.answer()).status]).toEqual([403, 403])
    const large = await RawClient.open(httpPort)
    const answer = await large.send(post(10_000_000)).answer()
    expect([answer.status, answer.headers.connection]).toEqual([403, 'close'])
    await large.end()
  })
})

describe('bodies', () => {
  it('chunked both ways, with extensions dropped and trailers kept', async () => {
    const seen: { body: string; trailers: string[] }[] = []
    const origin = await httpOrigin((request, response) => {
      let body = ''
      request.on('data', (piece) => (body += piece))
      request.on('end', () => {
        seen.push({ body, trailers: request.rawTrailers })
        response.setHeader('Trailer', 'X-Sum')
        response.write('one ')
        response.write('two')
        response.addTrailers({ 'X-Sum': '7' })
        response.end()
      })
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const authority = `127.0.0.1:${origin.port}`
    const client = await RawClient.open(httpPort)
    client.send(
      `POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\nHost: evil\r\n\r\n`,
    )
    const answer = await client.answer()
    expect(answer.body.toString()).toBe('one two')
    expect(seen).toEqual([{ body: 'abcde', trailers: ['X-T', '1'] }])
  })

  it('a chunked answer is plain bytes and the end for an HTTP/1.0 client', async () => {
    const origin = await scriptedOrigin(
      () => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    )
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    const answer = await client.send(`GET http://127.0.0.1:${origin.port}/ HTTP/1.0\r\n\r\n`).answer()
    expect(answer.headers['transfer-encoding']).toBeUndefined()
    expect(answer.body.toString()).toBe('abc')
  })

  it('100 Continue comes from the origin, before the body', async () => {
    const origin = await httpOrigin((request, response) => request.pipe(response))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const authority = `127.0.0.1:${origin.port}`
    const client = await RawClient.open(httpPort)
    client.send(
      `PUT http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`,
    )
    expect((await client.answer()).status).toBe(100)
    expect((await client.send('body').answer()).body.toString()).toBe('body')
  })

  it('a refused request that expects 100 Continue gets its refusal instead', async () => {
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(
      'PUT http://127.0.0.2/ HTTP/1.1\r\nHost: 127.0.0.2\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n',
    )
    expect((await client.answer()).status).toBe(403)
  })

  it('answers to HEAD, 204 and 304 have no body whatever their fields say', async () => {
    const status: Record<string, string> = { HEAD: '200 OK', GET: '304 Not Modified', PUT: '204 No Content' }
    const origin = await scriptedOrigin(
      (request) => `HTTP/1.1 ${status[request.split(' ')[0]!]}\r\nContent-Length: 5\r\n\r\n`,
    )
    const { httpPort } = await startProxy({ rules: ALLOW })
    const authority = `127.0.0.1:${origin.port}`
    const client = await RawClient.open(httpPort)
    for (const method of ['HEAD', 'GET', 'PUT']) {
      client.send(`${method} http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
      expect((await client.answer('HEAD')).headers['content-length']).toBe('5')
    }
  })

  it('P41 fifty megabytes to a slow origin: every byte arrives, held back instead of piled up', async () => {
    const hash = createHash('sha256')
    let received = 0
    const origin = await rawOrigin((socket) => {
      let head = true
      socket.on('data', (bytes: Buffer) => {
        const body = head ? bytes.subarray(bytes.indexOf('\r\n\r\n') + 4) : bytes
        head = false
        hash.update(body)
        received += body.length
        socket.pause()
        setTimeout(() => socket.resume(), 1)
        if (received === 50_000_000) socket.write(ok(hash.digest('hex')))
      })
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const authority = `127.0.0.1:${origin.port}`
    const client = await RawClient.open(httpPort)
    client.send(`POST http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: 50000000\r\n\r\n`)
    const sent = createHash('sha256')
    const before = process.memoryUsage().rss
    for (let n = 0; n < 50; n++) {
      const piece = Buffer.alloc(1_000_000, n)
      sent.update(piece)
      if (!client.socket.write(piece)) await new Promise((resolve) => client.socket.once('drain', resolve))
    }
    expect((await client.answer()).body.toString()).toBe(sent.digest('hex'))
    expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000)
  }, 30_000)

  it('a large answer followed by the end arrives whole at a slow reader', async () => {
    const body = Buffer.alloc(3_000_000, 'x')
    const origin = await rawOrigin((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.end(body)
      }),
    )
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(get(`http://127.0.0.1:${origin.port}/`))
    client.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 100))
    client.socket.resume()
    expect((await client.answer()).body.equals(body)).toBe(true)
  })

  it('an answer that is cut off ends abruptly instead of looking whole', async () => {
    const origin = await rawOrigin((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')
        socket.end()
      }),
    )
    const { httpPort, factsWhere } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(get(`http://127.0.0.1:${origin.port}/`))
    await expect(client.answer()).rejects.toThrow('closed after')
    await factsWhere((facts) => facts.state === 'failed')
  })

  it.each([
    ['an unfinished head', 'HTTP/1.1 200 OK\r\nX: '],
    ['nothing', ''],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['a switch of protocol that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ])('P49 an origin that answers %s is a failed hop', async (_what, answer) => {
    const origin = await rawOrigin((socket) => socket.once('data', () => socket.end(answer)))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get(`http://127.0.0.1:${origin.port}/`)).answer()).status).toBe(502)
  })
})
