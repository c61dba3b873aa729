import { execFile } from 'node:child_process'
import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { ORIGIN_ROOTS, httpsOrigin, tlsOrigin, originCertificate } from '../test-kit/tls-origins.ts'
import { newAuthority } from '../certificates/certificate-authority.ts'
import { rawThrough, tlsOver, tlsThrough, tunnelThrough } from '../test-kit/inspected-client.ts'
import { rule, rules, SETTINGS, startProxy, type FixtureOptions, type ProxyFixture } from '../test-kit/proxy-fixture.ts'
import { connectTo, RawClient } from '../test-kit/raw-client.ts'
import { clientHello } from '../test-kit/client-hello-bytes.ts'
import { echoOrigin, rawOrigin } from '../test-kit/origins.ts'
import { parseInspection } from './inspection-config.ts'

const ALLOW = rules('allow 127.0.0.1')
const EVERYTHING = { inspection: parseInspection({ inspect_all: true }, undefined, {}) }

function startInspecting(options: FixtureOptions = {}): Promise<ProxyFixture> {
  return startProxy({
    rules: ALLOW,
    platformRoots: ORIGIN_ROOTS,
    ...options,
    settings: { ...EVERYTHING, ...options.settings },
  })
}

const echoHead = (port: number, line: string, more = '') => `${line} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${more}\r\n`

describe('requests inside an inspected tunnel', () => {
  it('reach the origin as they are, one after the other on one connection', async () => {
    const origin = await httpsOrigin((request, response) => {
      response.setHeader('X-Seen', `${request.method} ${request.url}`)
      response.end(request.rawHeaders.join('|'))
    })
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(
      echoHead(origin.port, 'GET /a?b=c', 'X-Case: Kept\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n').replace(
        'close, ',
        '',
      ),
    )
    const first = await client.answer()
    expect([first.status, first.headers['x-seen']]).toEqual([200, 'GET /a?b=c'])
    expect(first.body.toString()).toBe(
      `Host|127.0.0.1:${origin.port}|X-Case|Kept|Connection|keep-alive`.replace('|Connection|keep-alive', ''),
    )
    client.send(echoHead(origin.port, 'DELETE /d'))
    expect((await client.answer()).headers['x-seen']).toBe('DELETE /d')
  })

  it('P41 a large upload to a slow origin arrives whole and in bounded memory', async () => {
    const size = 50 * 1024 * 1024
    const origin = await httpsOrigin((request, response) => {
      const hash = createHash('sha256')
      let pauses = 0
      request.on('data', (bytes: Buffer) => {
        hash.update(bytes)
        if (++pauses % 200 !== 0) return
        request.pause()
        setTimeout(() => request.resume(), 2)
      })
      request.on('end', () => response.end(hash.digest('hex')))
    })
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'POST /', `Content-Length: ${size}\r\n`))
    const hash = createHash('sha256')
    const piece = randomBytes(256 * 1024)
    const before = process.memoryUsage().rss
    let peak = before
    for (let sent = 0; sent < size; sent += piece.length) {
      hash.update(piece)
      if (!client.socket.write(piece))
        await new Promise<void>((resolve) => client.socket.once('drain', () => resolve()))
      peak = Math.max(peak, process.memoryUsage().rss)
    }
    expect((await client.answer()).body.toString()).toBe(hash.digest('hex'))
    expect(peak - before).toBeLessThan(size * 2)
  }, 60_000)

  it('a large download to a client that reads slowly is the same on both sides', async () => {
    const body = randomBytes(8 * 1024 * 1024)
    const origin = await httpsOrigin((_request, response) => response.end(body))
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    client.socket.pause()
    await fixture.factsWhere(({ bytesIn }) => bytesIn > 0)
    client.socket.resume()
    expect((await client.answer()).body.equals(body)).toBe(true)
  })

  it.each([
    ['another host', 'GET /', 'Host: elsewhere.test\r\n', 400, 'host mismatch'],
    ['another port', 'GET /', 'Host: 127.0.0.1:1\r\n', 400, 'host mismatch'],
    ['two hosts', 'GET /', 'Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n', 400, 'multiple Host'],
    ['no host', 'GET /', '', 400, 'missing host'],
    [
      'a target of another host',
      'GET https://elsewhere.test/',
      'Host: 127.0.0.1\r\n',
      400,
      'Host header does not match',
    ],
    ['a target that is not https', 'GET http://127.0.0.1/', 'Host: 127.0.0.1\r\n', 400, 'not https'],
    ['CONNECT', 'CONNECT 127.0.0.1:443', 'Host: 127.0.0.1\r\n', 405, 'cannot be used'],
    ['TRACE', 'TRACE /', 'Host: 127.0.0.1\r\n', 405, 'cannot be used'],
    [
      'both framings',
      'POST /',
      'Host: 127.0.0.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n',
      400,
      'both Content-Length',
    ],
    ['a name with a space', 'GET /', 'Host: 127.0.0.1\r\nX : y\r\n', 400, 'not a token'],
  ])('with %s are refused', async (_what, line, fields, status, words) => {
    let reached = 0
    const origin = await httpsOrigin(() => reached++)
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(`${line} HTTP/1.1\r\n${fields}\r\n`)
    const answer = await client.answer()
    expect(answer.status).toBe(status)
    expect(answer.body.toString()).toContain(words)
    expect(reached).toBe(0)
  })

  it('are judged anew: a host that is denied after the tunnel was opened stops working', async () => {
    const origin = await httpsOrigin((_request, response) => response.end('ok'))
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    expect((await client.answer()).status).toBe(200)
    fixture.proxy.setRules(2, rules('allow 127.0.0.1', 'deny 127.0.0.1'))
    client.send(echoHead(origin.port, 'GET /'))
    const answer = await client.answer()
    expect(answer).toMatchObject({
      status: 403,
      headers: {
        'x-proxy-error': 'blocked-by-denylist',
        'x-gatehouse-reason': 'denied',
        'content-type': 'text/plain; charset=utf-8',
      },
    })
    expect(answer.body.toString()).toContain('A deny rule of Gatehouse names this host')
    expect(await fixture.factsWhere(({ reason }) => reason === 'denied')).toMatchObject({
      protocol: 'https',
      method: 'GET',
      verdict: 'deny',
      inspected: true,
      detail: { source: 'baseline_policy' },
    })
  })

  it('a refusal is JSON for clients that ask for it, with the member that npm prints', async () => {
    const origin = await httpsOrigin(() => {})
    const fixture = await startInspecting({ settings: { mode: 'limited' } })
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'POST /', 'Accept: application/json\r\nContent-Length: 0\r\n'))
    const { body, headers } = await client.answer()
    expect(headers['content-type']).toBe('application/json')
    expect(JSON.parse(body.toString())).toMatchObject({
      status: 'blocked',
      reason: 'method_not_allowed',
      error: expect.stringContaining('limited mode') as string,
    })
  })

  it('limited mode reads every tunnel and lets only reading methods pass', async () => {
    const origin = await httpsOrigin((request, response) => response.end(request.method))
    const fixture = await startProxy({ rules: ALLOW, platformRoots: ORIGIN_ROOTS, settings: { mode: 'limited' } })
    const statuses: Record<string, number> = {}
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'get', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
      client.send(echoHead(origin.port, `${method} /`, 'Content-Length: 0\r\n'))
      statuses[method] = (await client.answer(method)).status
    }
    expect(statuses).toEqual({
      GET: 200,
      HEAD: 200,
      OPTIONS: 200,
      get: 403,
      POST: 403,
      PUT: 403,
      PATCH: 403,
      DELETE: 403,
      PROPFIND: 403,
    })
  })

  it('go on to an origin that was just restarted', async () => {
    let served = 0
    const origin = await tlsOrigin((socket) => {
      socket.once('data', () => {
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${++served}`)
      })
    })
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    for (const expected of ['1', '2', '3']) {
      client.send(echoHead(origin.port, 'GET /'))
      expect((await client.answer()).body.toString()).toBe(expected)
    }
  })

  it('a client that leaves in the middle takes the request with it', async () => {
    let noteClosed = () => {}
    const closed = new Promise<void>((resolve) => (noteClosed = resolve))
    const origin = await httpsOrigin((_request, response) => {
      response.write('begun')
      response.on('close', noteClosed)
    })
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    await client.until(() => (client.received.includes('begun') ? true : undefined))
    client.destroy()
    await closed
    await fixture.factsWhere(({ state }) => state === 'closed')
  })

  it('a response that breaks off reaches the client broken', async () => {
    const origin = await tlsOrigin((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this', () => socket.destroy())
      })
    })
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    await expect(client.answer()).rejects.toThrow(/closed after "?only this|closed after/)
  })

  it.each([
    ['TLSv1.3', 'TLS_AES_128_GCM_SHA256'],
    ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ] as const)('%s is spoken with %s, the cheapest suite', async (maxVersion, suite) => {
    const origin = await httpsOrigin((_request, response) => response.end('x'))
    const fixture = await startInspecting()
    const socket = await tlsThrough(fixture, `127.0.0.1:${origin.port}`, { maxVersion })
    expect([socket.getProtocol(), socket.getCipher().name]).toEqual([maxVersion, suite])
  })

  it('share TLS sessions with the client and with the origin', async () => {
    let resumed = 0
    const origin = await tlsOrigin((socket) => {
      if (socket.isSessionReused()) resumed++
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'))
    })
    const fixture = await startInspecting()
    for (let n = 0; n < 3; n++) {
      const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
      client.send(echoHead(origin.port, 'GET /'))
      await client.answer()
    }
    expect(resumed).toBeGreaterThan(0)
  })
})

describe('WebSocket inside an inspected tunnel', () => {
  async function open(fixture: ProxyFixture, port: number): Promise<WebSocket> {
    const socket = await tlsThrough(fixture, `127.0.0.1:${port}`)
    return new WebSocket(`wss://127.0.0.1:${port}/chat`, { createConnection: () => socket })
  }

  it('carries frames both ways', async () => {
    const origin = await httpsOrigin(() => {})
    const sockets = new WebSocketServer({ server: origin.server })
    sockets.on('connection', (socket) =>
      socket.on('message', (bytes, isBinary) => socket.send(bytes, { binary: isBinary })),
    )
    const fixture = await startInspecting()
    const client = await open(fixture, origin.port)
    await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject))
    const payload = randomBytes(300_000)
    client.send(payload)
    const [back] = (await new Promise<unknown[]>((resolve) => client.once('message', (...all) => resolve(all)))) as [
      Buffer,
    ]
    expect(back.equals(payload)).toBe(true)
    client.close()
    await new Promise((resolve) => client.once('close', resolve))
  })

  it.each([
    [false, 403],
    [true, 101],
  ])('in limited mode with limitedAllowsWebsocket %s: %i', async (limitedAllowsWebsocket, status) => {
    const origin = await httpsOrigin(() => {})
    new WebSocketServer({ server: origin.server }).on('connection', (socket) => socket.close())
    const fixture = await startInspecting({ settings: { mode: 'limited', limitedAllowsWebsocket } })
    const client = await open(fixture, origin.port)
    client.on('error', () => {})
    const seen = await new Promise((resolve) => {
      client.once('open', () => resolve(101))
      client.once('unexpected-response', (_request, response: { statusCode: number }) => resolve(response.statusCode))
    })
    expect(seen).toBe(status)
    client.terminate()
  })
})

describe('the origin of an inspected tunnel', () => {
  const foreign = newAuthority(Date.now())

  it.each([
    [
      'an authority that nobody knows',
      () => originCertificate('127.0.0.1', { authority: foreign }),
      /not signed by an authority that this machine trusts/,
    ],
    ['an expired certificate', () => originCertificate('127.0.0.1', { days: -1 }), /has expired \(CERT_HAS_EXPIRED\)/],
    ['a certificate for another host', () => originCertificate('other.test'), /is for another host/],
  ])('with %s is not talked to, and the answer says why', async (_what, certificate, words) => {
    let reached = false
    const origin = await tlsOrigin((socket) => socket.on('data', () => (reached = true)), certificate())
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    const { status, body, headers } = await client.answer()
    expect([status, headers['x-proxy-error']]).toEqual([502, 'upstream-failure'])
    expect(body.toString()).toMatch(words)
    expect(reached).toBe(false)
    expect(await fixture.factsWhere(({ state }) => state === 'failed')).toMatchObject({
      detail: { failure: expect.stringMatching(words) as string },
    })
  })

  it('P38 is trusted when only the platform knows its authority, or only the environment', async () => {
    const origin = await httpsOrigin((_request, response) => response.end('ok'))
    const fixture = await startInspecting({ platformRoots: ORIGIN_ROOTS })
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    expect((await client.answer()).status).toBe(200)
    const without = await startInspecting({ platformRoots: () => Promise.resolve([]) })
    const refused = await rawThrough(without, `127.0.0.1:${origin.port}`)
    refused.send(echoHead(origin.port, 'GET /'))
    expect((await refused.answer()).status).toBe(502)
  })

  it('that is not there is 502, naming the hop', async () => {
    const fixture = await startInspecting()
    const client = await rawThrough(fixture, '127.0.0.1:9')
    client.send(echoHead(9, 'GET /'))
    const { status, body } = await client.answer()
    expect([status, body.toString()]).toEqual([502, 'Gatehouse proxy: 127.0.0.1:9 refused the connection.\n'])
  })

  it('that resolves to a private address is refused for every request', async () => {
    const fixture = await startInspecting({ rules: rules('allow a.test'), names: { 'a.test': ['10.0.0.1'] } })
    const client = await rawThrough(fixture, 'a.test:443')
    for (let n = 0; n < 2; n++) {
      client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
      expect(await client.answer()).toMatchObject({
        status: 403,
        headers: { 'x-gatehouse-reason': 'not_allowed_local' },
      })
    }
  })
})

describe('the TLS greeting of an inspected tunnel', () => {
  it.each([1, 100])('P40 is put together from pieces of %i bytes', async (pieceBytes) => {
    const fixture = await startInspecting({ rules: rules('allow a.test') })
    const client = await RawClient.open(fixture.httpPort)
    client.send(connectTo('a.test:443'))
    await client.answer('HEAD')
    await client.sendSlowly(clientHello('evil.test'), pieceBytes)
    await client.end()
    expect(client.received.toString('hex')).toBe('15030300020231')
    expect(await fixture.factsWhere(({ state }) => state === 'blocked')).toMatchObject({
      reason: 'sni_mismatch',
      detail: { words: 'the tunnel is for a.test and asks for evil.test' },
    })
  })

  it('with the name of an allowed host, to an address, means that host', async () => {
    const origin = await tlsOrigin(
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
      originCertificate('a.test'),
    )
    const fixture = await startInspecting({
      rules: rules('allow a.test', 'allow 127.0.0.1'),
      names: { 'a.test': ['127.0.0.1'] },
      settings: { allowLocalBinding: true },
    })
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`, { serverName: 'a.test' })
    client.send(`GET / HTTP/1.1\r\nHost: a.test:${origin.port}\r\n\r\n`)
    expect((await client.answer()).status).toBe(204)
    expect(fixture.lookups).toEqual(['a.test'])
    await expect(tlsThrough(fixture, `127.0.0.1:${origin.port}`, { serverName: 'b.test' })).rejects.toThrow()
  })

  it('of a client that does not trust the authority fails with words about it', async () => {
    const fixture = await startInspecting()
    const curl = promisify(execFile)(
      'curl',
      ['-sS', '-x', `http://127.0.0.1:${fixture.httpPort}`, 'https://127.0.0.1/'],
      {
        env: { PATH: process.env.PATH },
      },
    )
    await expect(curl).rejects.toMatchObject({ code: 60 })
    const { detail } = await fixture.factsWhere(({ state }) => state === 'failed')
    expect(JSON.stringify(detail)).toMatch(/does not trust Gatehouse's certificate \(ERR_SSL_TLSV1_ALERT_UNKNOWN_CA\)/)
  })

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('is answered in %s', async (maxVersion) => {
    const origin = await httpsOrigin((_request, response) => response.end('ok'))
    const fixture = await startInspecting()
    const socket = await tlsThrough(fixture, `127.0.0.1:${origin.port}`, { maxVersion })
    expect(socket.getProtocol()).toBe(maxVersion)
  })

  it('an IPv6 host gets a certificate for its address', async () => {
    const fixture = await startInspecting({ rules: rules('allow [::1]') })
    await tlsThrough(fixture, '[::1]:443')
  })
})

describe('what is not TLS', () => {
  it('passes unread where nothing demands reading', async () => {
    const origin = await echoOrigin()
    const fixture = await startInspecting()
    const client = await RawClient.open(fixture.httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    client.send('SSH-2.0-client\r\n')
    expect((await client.take(16)).toString()).toBe('SSH-2.0-client\r\n')
    expect(await fixture.factsWhere(({ state }) => state === 'allowed')).toMatchObject({ inspected: false })
  })

  it('a server that speaks first is heard, once the client was silent at two looks', async () => {
    const origin = await rawOrigin((socket) => socket.write('220 ready\r\n'))
    const { fixture, look } = await startWithClock()
    const client = await tunnelThrough(fixture, `127.0.0.1:${origin.port}`)
    look()
    look()
    expect((await client.take(11)).toString()).toBe('220 ready\r\n')
  })

  it('a greeting that lay unread while the process was held up is not taken for silence', async () => {
    const certificate = originCertificate('127.0.0.1')
    const origin = await tlsOrigin(() => {}, certificate)
    const { fixture, look } = await startWithClock()
    const client = await tunnelThrough(fixture, `127.0.0.1:${origin.port}`)
    look()
    const socket = await tlsOver(client, fixture, `127.0.0.1:${origin.port}`)
    const ofOrigin = new X509Certificate(certificate.cert).fingerprint256
    expect(socket.getPeerX509Certificate()?.fingerprint256).not.toBe(ofOrigin)
  })

  /** `look` is what the proxy does about every second, here as if it had been held up for five. Else no time passes. */
  async function startWithClock(): Promise<{ fixture: ProxyFixture; look: () => void }> {
    let nowMs = Date.now()
    const fixture = await startInspecting({ nowMs: () => nowMs })
    return {
      fixture,
      look: () => {
        nowMs += 5000
        fixture.proxy['live'].tick()
        nowMs -= 5000
      },
    }
  }

  it('ends with an alert where reading is demanded', async () => {
    const origin = await echoOrigin()
    const fixture = await startProxy({ rules: ALLOW, settings: { mode: 'limited' } })
    const client = await RawClient.open(fixture.httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    client.send('SSH-2.0-client\r\n')
    await client.end()
    expect(client.received.toString('hex')).toBe('15030300020231')
    expect(origin.connections).toBe(0)
  })
})

describe('which tunnels are inspected', () => {
  const hooks = {
    hooks: { api: { host: 'hooked.test', methods: ['GET'], path_prefixes: ['/'], action: ['none'] } },
    actions: { none: {} },
  }

  it.each([
    ['nothing set', {}, 'full', 'a.test:443', false],
    ['limited mode', {}, 'limited', 'a.test:443', true],
    ['a host with hooks', hooks, 'full', 'hooked.test:443', true],
    ['a host with hooks on another port', hooks, 'full', 'hooked.test:8443', true],
    ['another host than the one with hooks', hooks, 'full', 'a.test:443', false],
    ['everything', { inspect_all: true }, 'full', 'a.test:443', true],
    ['an exclusion', { inspect_all: true, exclude: ['*.test'] }, 'full', 'a.test:443', false],
    ['an exclusion of another port', { inspect_all: true, exclude: ['a.test:8443'] }, 'full', 'a.test:443', true],
    ['an exclusion in limited mode', { exclude: ['*.test'] }, 'limited', 'a.test:443', true],
  ] as const)('%s', async (_what, mitm, mode, authority, inspected) => {
    const fixture = await startProxy({
      rules: rules('allow a.test', 'allow hooked.test'),
      names: { 'a.test': ['127.0.0.1'], 'hooked.test': ['127.0.0.1'] },
      settings: { mode, allowLocalBinding: true, inspection: parseInspection(mitm, undefined, {}) },
    })
    const client = await RawClient.open(fixture.httpPort)
    // Without inspection nothing listens at the far end, and the tunnel fails before its yes.
    expect((await client.send(connectTo(authority)).answer('HEAD')).status).toBe(inspected ? 200 : 502)
  })

  it('changes while the proxy runs, and the next tunnel obeys', async () => {
    const fixture = await startProxy({ rules: ALLOW })
    const status = async () =>
      (await (await RawClient.open(fixture.httpPort)).send(connectTo('127.0.0.1:9')).answer('HEAD')).status
    expect([await status(), fixture.proxy.trustBundlePath]).toEqual([502, undefined])
    await fixture.proxy.configure({ ...SETTINGS, ...EVERYTHING })
    expect(await status()).toBe(200)
    expect(fixture.proxy.trustBundlePath).toMatch(/trust-bundle\.pem$/)
    await fixture.proxy.configure(SETTINGS)
    expect(await status()).toBe(502)
  })

  it('a session rule holds inside the tunnel as well', async () => {
    const fixture = await startInspecting({ rules: [rule('allow 127.0.0.1', { protocol: 'https' })] })
    const origin = await httpsOrigin((_request, response) => response.end('ok'))
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(echoHead(origin.port, 'GET /'))
    expect((await client.answer()).status).toBe(200)
  })
})
