import { describe, expect, it } from 'vitest'
import { h2Through, rawThrough } from '../test-kit/inspected-client.ts'
import { startProxy, rules, type ProxyFixture } from '../test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from '../test-kit/raw-client.ts'
import { httpsOrigin, ORIGIN_ROOTS } from '../test-kit/tls-origins.ts'
import { parseInspection } from './inspection-config.ts'

const SECRET = 'sec-ret-value'
const MITM = {
  hooks: {
    api: { host: '127.0.0.1', methods: ['GET', 'POST'], path_prefixes: ['/api'], action: ['login'] },
  },
  actions: {
    login: {
      strip_request_headers: ['Authorization', 'X-Client-Secret'],
      inject_request_headers: [{ name: 'X-Api-Token', secret_env_var: 'TOKEN' }],
    },
  },
}

function startHooked(): Promise<ProxyFixture> {
  return startProxy({
    rules: rules('allow 127.0.0.1'),
    platformRoots: ORIGIN_ROOTS,
    settings: { inspection: parseInspection(MITM, undefined, { TOKEN: SECRET }) },
  })
}

/** Shows what arrived, in a body and, as a careless server would, in a field. */
const echoing = () =>
  httpsOrigin((request, response) => {
    response.setHeader('X-Echo', `you sent ${request.headers['x-api-token']}`)
    response.end(JSON.stringify(request.headers))
  })

describe('a host with hooks', () => {
  it('gets the secret that the client does not have, and does not give it back in a field', async () => {
    const origin = await echoing()
    const fixture = await startHooked()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(
      `GET /api/x?key=personal HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\nAuthorization: Bearer mine\r\nX-Client-Secret: y\r\nCookie: a=b\r\n\r\n`,
    )
    const { body, headers } = await client.answer()
    const seen = JSON.parse(body.toString()) as Record<string, string>
    expect(seen).toMatchObject({ 'x-api-token': SECRET, cookie: 'a=b' })
    expect(Object.keys(seen)).not.toContain('authorization')
    expect(headers['x-echo']).toBe('you sent [removed by Gatehouse]')
    const { detail } = await fixture.factsWhere(({ detail }) =>
      JSON.stringify(detail ?? {}).includes('responseHeaders'),
    )
    expect(detail).toMatchObject({
      exchanges: [
        {
          method: 'GET',
          path: '/api/x?…',
          status: 200,
          requestHeaders: expect.arrayContaining([
            ['Cookie', '[masked]'],
            ['X-Api-Token', '[masked]'],
          ]) as unknown,
          responseHeaders: expect.arrayContaining([['X-Echo', 'you sent [removed by Gatehouse]']]) as unknown,
        },
      ],
    })
    expect(JSON.stringify(fixture.facts())).not.toContain(SECRET)
    expect(JSON.stringify(fixture.facts())).not.toContain('personal')
  })

  it('gets it over HTTP/2 as well', async () => {
    const origin = await echoing()
    const fixture = await startHooked()
    const session = await h2Through(fixture, `127.0.0.1:${origin.port}`)
    const stream = session.request({ ':path': '/api', authorization: 'mine' })
    const [headers] = (await new Promise<unknown[]>((resolve) =>
      stream.once('response', (...all) => resolve(all)),
    )) as [Record<string, string>]
    let body = ''
    for await (const part of stream) body += String(part)
    expect(JSON.parse(body)).toMatchObject({ 'x-api-token': SECRET })
    expect(headers['x-echo']).toBe('you sent [removed by Gatehouse]')
    expect(JSON.stringify(fixture.facts())).not.toContain(SECRET)
  })

  it.each([
    ['another path', 'GET /other', 403, 'blocked-by-mitm-hook'],
    ['another method', 'DELETE /api', 403, 'blocked-by-mitm-hook'],
    ['a path that climbs', 'GET /api/../other', 400, 'bad-request'],
  ])('refuses %s', async (_what, line, status, code) => {
    let reached = 0
    const origin = await httpsOrigin(() => reached++)
    const fixture = await startHooked()
    const client = await rawThrough(fixture, `127.0.0.1:${origin.port}`)
    client.send(`${line} HTTP/1.1\r\nHost: 127.0.0.1:${origin.port}\r\n\r\n`)
    expect(await client.answer()).toMatchObject({ status, headers: { 'x-proxy-error': code } })
    expect(reached).toBe(0)
  })

  it('is not to be had over plain HTTP', async () => {
    const { httpPort } = await startHooked()
    const answer = await (await RawClient.open(httpPort)).send(get('http://127.0.0.1:1/api')).answer()
    expect(answer).toMatchObject({ status: 403, headers: { 'x-proxy-error': 'blocked-by-mitm-required' } })
    expect(JSON.parse(answer.body.toString())).toMatchObject({ reason: 'mitm_required', source: 'mode_guard' })
  })

  it('is hooked in absolute form too, where the proxy itself speaks TLS', async () => {
    const origin = await echoing()
    const { httpPort } = await startHooked()
    const client = await RawClient.open(httpPort)
    const answer = await client.send(get(`https://127.0.0.1:${origin.port}/api`)).answer()
    expect(JSON.parse(answer.body.toString())).toMatchObject({ 'x-api-token': SECRET })
    expect((await client.send(get(`https://127.0.0.1:${origin.port}/other`)).answer()).status).toBe(403)
  })

  it.each([
    [443, '00'],
    [8443, '02'],
  ])('over SOCKS on port %i is answered %s', async (port, reply) => {
    const { socksPort } = await startHooked()
    const client = await RawClient.open(socksPort)
    client.send(Buffer.from([5, 1, 0]))
    await client.take(2)
    client.send(Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, port >> 8, port & 255]))
    expect((await client.take(10)).subarray(1, 2).toString('hex')).toBe(reply)
  })

  it('gives a child an empty variable in place of the secret', async () => {
    const { proxy } = await startHooked()
    const environment = await proxy.grantLease({ leaseId: 'l' as never, sessionId: 's' as never })
    expect(environment.TOKEN).toBe('')
    expect(environment.SSL_CERT_FILE).toBe(proxy.trustBundlePath)
  })

  it('a tunnel to it needs inspection that is there', async () => {
    const fixture = await startHooked()
    const client = await RawClient.open(fixture.httpPort)
    expect((await client.send(connectTo('127.0.0.1:9')).answer('HEAD')).status).toBe(200)
  })
})
