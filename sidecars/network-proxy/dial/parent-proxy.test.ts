import { describe, expect, it } from 'vitest'
import { echoOrigin, ok, rawOrigin, scriptedOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from '../test-kit/raw-client.ts'
import { ParentProxies } from './parent-proxy.ts'

const nothing = () => false
const parents = (environment: Record<string, string>) => new ParentProxies(environment, nothing)

describe('which parent a destination goes to', () => {
  const all = { HTTP_PROXY: 'http://p1:1', HTTPS_PROXY: 'http://p2:2', ALL_PROXY: 'http://p3:3' }
  it.each([
    [all, false, 'p1'],
    [all, true, 'p2'],
    [{ HTTP_PROXY: 'http://p1:1' }, true, 'p1'],
    [{ ALL_PROXY: 'http://p3:3' }, false, 'p3'],
    [{ ALL_PROXY: 'http://p3:3' }, true, 'p3'],
    [{ https_proxy: 'http://p4:4' }, true, 'p4'],
    [{ https_proxy: 'http://p4:4' }, false, undefined],
    [{ HTTP_PROXY: 'p5:5' }, false, 'p5'],
    [{ HTTP_PROXY: 'socks5://p6:6' }, false, undefined],
    [{ HTTP_PROXY: ' ' }, false, undefined],
    [{ HTTP_PROXY: 'http://[' }, false, undefined],
  ])('%j, tunnelled %s: %s', (environment, tunnelled, host) => {
    expect(parents(environment as Record<string, string>).routeFor('a.test', 443, tunnelled)?.host).toBe(host)
  })

  it('reads address, port, TLS and credentials from the URL', () => {
    expect(parents({ HTTP_PROXY: 'https://user:p%40ss@proxy.test' }).routeFor('a.test', 80, false)).toEqual({
      host: 'proxy.test',
      port: 443,
      tls: true,
      authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
    })
  })

  it('says which settings it ignores', () => {
    expect(parents({ HTTP_PROXY: 'socks5://p:1', HTTPS_PROXY: 'http://[' }).warnings).toHaveLength(2)
  })

  it.each([
    ['a.test', 'a.test', true],
    ['a.test', 'x.a.test', true],
    ['.a.test', 'x.a.test', true],
    ['*.a.test', 'x.a.test', true],
    ['a.test', 'ba.test', false],
    ['a.test:443', 'a.test', true],
    ['a.test:80', 'a.test', false],
    ['b.test, a.test', 'a.test', true],
    ['*', 'anything.test', true],
    ['203.0.113.0/24', '203.0.113.9', true],
    ['203.0.113.0/24', '203.0.114.9', false],
    ['2001:db8::/32', '2001:db8::5', true],
    ['203.0.113.9', '203.0.113.9', true],
    ['nonsense/99', '203.0.113.9', false],
    ['', 'a.test', false],
  ])('NO_PROXY=%s keeps %s direct: %s', (noProxy, host, direct) => {
    const route = parents({ HTTPS_PROXY: 'http://p:1', NO_PROXY: noProxy }).routeFor(host, 443, true)
    expect(route === undefined).toBe(direct)
  })

  it.each(['localhost', 'x.localhost', '127.0.0.1', '::1'])('%s is never reached through a parent', (host) => {
    expect(parents({ ALL_PROXY: 'http://p:1' }).routeFor(host, 80, false)).toBeUndefined()
  })

  it('a parent that is this proxy itself is ignored', () => {
    const own = new ParentProxies(
      { HTTP_PROXY: 'http://127.0.0.1:3128' },
      (host, port) => host === '127.0.0.1' && port === 3128,
    )
    expect(own.routeFor('a.test', 80, false)).toBeUndefined()
    expect(own.warnings[0]).toContain('this proxy itself')
  })
})

describe('through a parent', () => {
  const allowed = { rules: rules('allow a.test', 'allow 203.0.113.9'), settings: { allowUpstreamProxy: true } }

  it('a plain request goes in absolute form with the parent’s own credentials; nothing is looked up here', async () => {
    const seen: string[] = []
    const parent = await scriptedOrigin((request) => {
      seen.push(request)
      return ok('from parent')
    })
    const { httpPort, lookups } = await startProxy({
      ...allowed,
      environment: { HTTP_PROXY: `http://u:p@127.0.0.1:${parent.port}` },
    })
    const client = await RawClient.open(httpPort)
    client.send(get('http://a.test/x?y', 'Proxy-Authorization: Basic bGVhc2U6\r\n'))
    expect((await client.answer()).body.toString()).toBe('from parent')
    expect(seen).toEqual(['GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nProxy-Authorization: Basic dTpw\r\n\r\n'])
    expect(lookups).toEqual([])
  })

  it('a tunnel is asked for with CONNECT, and bytes that follow the answer are kept', async () => {
    let seen = ''
    const parent = await rawOrigin((socket) => {
      socket.on('data', (bytes: Buffer) => {
        seen += bytes.toString('latin1')
        if (seen.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nX: y\r\n\r\nbanner')
        else socket.write('echo')
      })
    })
    const { httpPort } = await startProxy({
      ...allowed,
      environment: { HTTPS_PROXY: `http://u:p@127.0.0.1:${parent.port}` },
    })
    const client = await RawClient.open(httpPort)
    client.send(connectTo('a.test:443'))
    expect((await client.answer('HEAD')).status).toBe(200)
    expect((await client.take(6)).toString()).toBe('banner')
    client.send('x')
    expect((await client.take(4)).toString()).toBe('echo')
    expect(seen).toBe('CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic dTpw\r\n\r\nx')
  })

  it('a host in NO_PROXY is reached directly', async () => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({
      rules: rules('allow a.test'),
      settings: { allowUpstreamProxy: true, allowLocalBinding: true },
      names: { 'a.test': ['127.0.0.1'] },
      environment: { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'a.test' },
    })
    const client = await RawClient.open(httpPort)
    expect((await client.send(connectTo(`a.test:${origin.port}`)).answer('HEAD')).status).toBe(200)
  })

  it('P26 the hop that failed is named', async () => {
    const { httpPort } = await startProxy({ ...allowed, environment: { ALL_PROXY: 'http://127.0.0.1:9' } })
    for (const request of [get('http://a.test/'), connectTo('a.test:443')]) {
      const answer = await (await RawClient.open(httpPort)).send(request).answer()
      expect(answer.status).toBe(502)
      expect(answer.body.toString()).toContain('parent proxy 127.0.0.1:9 refused the connection')
    }
  })

  it.each([
    ['P49 an answer that ends in the middle of a field', 'HTTP/1.1 200 OK\r\nX: ', 'ended the connection'],
    ['a refusal', 'HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n', 'refused the tunnel with status 403'],
    ['something else than HTTP', 'SSH-2.0-x\r\n\r\n', 'sent an answer to CONNECT'],
    ['nothing', '', 'ended the connection'],
  ])('%s is a failed hop, not a tunnel', async (_what, answer, words) => {
    const parent = await rawOrigin((socket) => socket.once('data', () => socket.end(answer)))
    const { httpPort } = await startProxy({
      ...allowed,
      environment: { HTTPS_PROXY: `http://127.0.0.1:${parent.port}` },
    })
    const client = await RawClient.open(httpPort)
    const refused = await client.send(connectTo('a.test:443')).answer()
    expect(refused.status).toBe(502)
    expect(refused.body.toString()).toContain(words)
  })

  it('rules are applied before the parent hears anything', async () => {
    const parent = await echoOrigin()
    const { httpPort } = await startProxy({ ...allowed, environment: { ALL_PROXY: `http://127.0.0.1:${parent.port}` } })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get('http://other.test/')).answer()).status).toBe(403)
    expect((await client.send(get('http://10.0.0.1/')).answer()).status).toBe(403)
    expect(parent.connections).toBe(0)
  })

  it('without the switch the environment is not looked at', async () => {
    const parent = await echoOrigin()
    const { httpPort } = await startProxy({
      rules: rules('allow a.test'),
      environment: { ALL_PROXY: `http://127.0.0.1:${parent.port}` },
    })
    expect(
      (await (await RawClient.open(httpPort)).send(get('http://a.test/')).answer()).headers['x-gatehouse-reason'],
    ).toBe('dns_failed')
    expect(parent.connections).toBe(0)
  })
})
