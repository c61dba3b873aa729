import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LeaseId, SessionId } from '../protocol/ids.ts'
import { listenNear, type Listener } from './listener.ts'
import { NetworkProxy } from './proxy.ts'
import { writePreface } from './preface.ts'
import { FixedSetting } from './settings.ts'
import { eventually } from './test-kit/owner.ts'
import { echoOrigin, ok, rawOrigin, scriptedOrigin } from './test-kit/origins.ts'
import { rules, SETTINGS, startProxy } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

const ALLOW = rules('allow 127.0.0.1')
const surroundings = { report() {}, environment: {} }

/** Occupies a port for the running test. */
async function occupy(port: number): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as { port: number }).port
}

async function near(
  port: number,
  first: number,
  last: number,
): Promise<{ listener: Listener; warning: string | undefined }> {
  const opened = await listenNear({ host: '127.0.0.1', port }, { first, last }, ({ socket }) => socket.destroy())
  onTestFinished(() => opened.listener.close())
  return opened
}

describe('listeners', () => {
  it('P32 a taken port is replaced by one of the range, then by any, with a warning', async () => {
    const port = await occupy(0)
    const inRange = await near(port, port, port + 20)
    expect(inRange.listener.port).toBeGreaterThan(port)
    expect(inRange.listener.port).toBeLessThanOrEqual(port + 20)
    expect(inRange.warning).toContain(`port ${port} cannot be had`)
    const anywhere = await near(port, port, port)
    expect(anywhere.listener.port).not.toBe(port)
    expect(anywhere.warning).toBeDefined()
  })

  it('P25 what is announced is the port that is really bound', async () => {
    const port = await occupy(0)
    const { proxy, httpPort } = await startProxy({
      settings: { http: { host: '127.0.0.1', port }, portFallback: true },
    })
    expect(httpPort).not.toBe(port)
    expect((await (await RawClient.open(httpPort)).send(get('http://x.test/')).answer()).status).toBe(403)
    const environment = await proxy.grantLease({ leaseId: 'l' as LeaseId, sessionId: 's' as SessionId })
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) {
      const leasePort = Number(new URL(environment[name]!).port)
      expect((await (await RawClient.open(leasePort)).send(get('http://x.test/')).answer()).status).toBe(403)
    }
  })

  it('a port that was asked for by name and is taken is an error', async () => {
    const port = await occupy(0)
    const start = NetworkProxy.start(
      { ...SETTINGS, http: { host: '127.0.0.1', port } },
      { revision: 0, rules: [] },
      surroundings,
    )
    await expect(start).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  it('a disabled proxy binds nothing', async () => {
    const { proxy } = await startProxy({ settings: { enabled: false } })
    expect([proxy.httpUrl, proxy.socksUrl]).toEqual([undefined, undefined])
    expect(await proxy.grantLease({ leaseId: 'l' as LeaseId, sessionId: 's' as SessionId })).toEqual({})
  })

  it('an address beyond loopback is clamped, with a warning', async () => {
    const { proxy } = await startProxy({ settings: { http: { host: '0.0.0.0', port: 0 } } })
    expect(proxy.httpUrl).toMatch(/^http:\/\/127\.0\.0\.1:/)
    expect(proxy.warnings).toEqual([expect.stringContaining('dangerously_allow_non_loopback_proxy')])
  })

  it('a client that says nothing, or garbage, costs nothing and gets nothing', async () => {
    const { httpPort } = await startProxy()
    await RawClient.open(httpPort)
    for (const bytes of [
      Buffer.alloc(100, 255),
      Buffer.from('\r\n\r\n'),
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    ]) {
      const client = (await RawClient.open(httpPort)).send(bytes)
      client.socket.end()
      await client.end()
      expect(client.received.toString('latin1')).not.toContain(' 200 ')
    }
  })
})

describe('the self-test', () => {
  it('passes on a proxy that works and leaves no trace', async () => {
    const { proxy, facts } = await startProxy({ rules: ALLOW })
    expect(proxy.warnings).toEqual([])
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(facts()).toEqual([])
    expect(proxy.log.blocks.total).toBe(0)
  })

  it('passes under rules and modes that would forbid it everything', async () => {
    for (const settings of [{ mode: 'limited' as const }, { unknownHost: 'ask' as const }]) {
      const { proxy } = await startProxy({ rules: rules('deny 127.0.0.1', 'deny **.invalid'), settings })
      expect(proxy.warnings).toEqual([])
    }
  })

  it('speaks up when a forbidden host is let through', async () => {
    const { selfTest } = await import('./self-test.ts')
    const open = await rawOrigin((socket) => socket.once('data', () => socket.write(ok('anything goes'))))
    const problems = await selfTest({ at: { host: '127.0.0.1', port: open.port }, lend: () => () => {} })
    expect(problems).toEqual([
      expect.stringContaining('a forbidden host was not refused (200 for HTTP, 200 for CONNECT)'),
    ])
  })

  it('speaks up when nothing gets through', async () => {
    const { selfTest } = await import('./self-test.ts')
    const problems = await selfTest({ at: { host: '127.0.0.1', port: 9 }, lend: () => () => {} })
    expect(problems).toHaveLength(2)
    expect(problems[0]).toContain('ECONNREFUSED')
  })
})

describe('settings that change while it runs', () => {
  it.each([
    ['enabled', { enabled: false }],
    ['proxy_url', { http: { host: '127.0.0.1', port: 1 } }],
    ['socks_url', { socks: { host: '127.0.0.1', port: 1 } }],
    ['enable_socks5', { socks: undefined }],
    ['enable_socks5_udp', { socksUdp: false }],
  ])('%s is refused by name', async (key, change) => {
    const { proxy } = await startProxy()
    expect(() => proxy.configure({ ...SETTINGS, ...change })).toThrow(FixedSetting)
    expect(() => proxy.configure({ ...SETTINGS, ...change })).toThrow(`cannot update network.${key} on a running proxy`)
  })

  it('mode and guard are live', async () => {
    const origin = await scriptedOrigin(() => ok('x'))
    const { proxy, httpPort } = await startProxy({ rules: rules('allow a.test'), names: { 'a.test': ['127.0.0.1'] } })
    const client = await RawClient.open(httpPort)
    const url = `http://a.test:${origin.port}/`
    expect((await client.send(get(url)).answer()).status).toBe(403)
    proxy.configure({ ...SETTINGS, allowLocalBinding: true })
    expect((await client.send(get(url)).answer()).status).toBe(200)
    proxy.configure({ ...SETTINGS, allowLocalBinding: true, mode: 'limited' })
    expect((await client.send(get(url)).answer()).status).toBe(200)
    client.send(get(url).replace('GET', 'DELETE'))
    expect((await client.answer()).headers['x-gatehouse-reason']).toBe('method_not_allowed')
  })
})

describe('stopping', () => {
  it('lets a request in flight end and then refuses connections', async () => {
    let answer: (() => void) | undefined
    const origin = await rawOrigin((socket) =>
      socket.once('data', () => {
        answer = () => socket.write(ok('late'))
      }),
    )
    const { proxy, httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    const idle = await RawClient.open(httpPort)
    await idle.send(get('http://x.test/')).answer()
    client.send(get(`http://127.0.0.1:${origin.port}/`))
    await eventually(() => answer !== undefined)
    const closed = proxy.close()
    answer?.()
    expect((await client.answer()).body.toString()).toBe('late')
    await idle.end()
    await closed
    await expect(RawClient.open(httpPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('ends tunnels that do not end by themselves, and reports them as closed', async () => {
    const origin = await echoOrigin()
    const { proxy, httpPort, facts } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    await proxy.close(50)
    await client.end()
    expect(facts().map(({ state }) => state)).toEqual(['closed'])
  })
})

describe('a bridge into a network namespace', () => {
  const lease = { leaseId: 'bridge-lease' as LeaseId, sessionId: 'ses_1' as SessionId, command: 'x' }

  it('names the lease of each connection in a preface, for HTTP and SOCKS alike', async () => {
    const origin = await echoOrigin()
    const { proxy, httpPort, factsWhere } = await startProxy({ rules: ALLOW })
    await proxy.grantLease(lease)
    const http = await RawClient.open(httpPort)
    await http.sendSlowly(
      Buffer.concat([writePreface('bridge-lease'), Buffer.from(connectTo(`127.0.0.1:${origin.port}`))]),
      3,
    )
    expect((await http.answer('HEAD')).status).toBe(200)
    await factsWhere((facts) => facts.leaseId === 'bridge-lease')
    const socks = await RawClient.open(httpPort)
    socks.send(Buffer.concat([writePreface('bridge-lease'), Buffer.from([5, 1, 0])]))
    expect([...(await socks.take(2))]).toEqual([5, 0])
  })

  it.each([
    ['an unknown lease', writePreface('nobody')],
    ['an empty lease', writePreface('')],
    ['a lease that is too long', writePreface('x'.repeat(129))],
    ['another magic', Buffer.from('\0XXXXXXX\0\x01a')],
  ])('%s is dropped', async (_what, preface) => {
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(preface)
    client.send(get('http://127.0.0.1/'))
    await client.end()
    expect(client.received).toHaveLength(0)
  })
})
