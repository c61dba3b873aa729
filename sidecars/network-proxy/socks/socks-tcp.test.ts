import { describe, expect, it } from 'vitest'
import type { LeaseId, SessionId } from '../../protocol/ids.ts'
import { clientHello } from '../test-kit/client-hello-bytes.ts'
import { echoOrigin } from '../test-kit/origins.ts'
import { rule, rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { RawClient } from '../test-kit/raw-client.ts'

const ALLOW = rules('allow 127.0.0.1', 'deny 127.0.0.2', 'deny denied.test')

const port16 = (port: number): number[] => [port >> 8, port & 255]
const ipv4 = (address: string, port: number): Buffer =>
  Buffer.from([5, 1, 0, 1, ...address.split('.').map(Number), ...port16(port)])
const domain = (name: string, port: number): Buffer =>
  Buffer.from([5, 1, 0, 3, name.length, ...Buffer.from(name), ...port16(port)])
const ipv6 = (bytes: number[], port: number): Buffer => Buffer.from([5, 1, 0, 4, ...bytes, ...port16(port)])
const MAPPED_LOOPBACK = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1]

/** Greets and sends one request; gives the client after the method was chosen. */
async function request(socksPort: number, bytes: Buffer): Promise<RawClient> {
  const client = await RawClient.open(socksPort)
  client.send(Buffer.from([5, 1, 0]))
  expect([...(await client.take(2))]).toEqual([5, 0])
  return client.send(bytes)
}

it('a refusal on the port of SSH is told in words that ssh prints', async () => {
  const { socksPort, factsWhere } = await startProxy({ rules: ALLOW })
  const client = await request(socksPort, domain('denied.test', 22))
  expect([...(await client.take(10))].slice(0, 2)).toEqual([5, 0])
  expect((await client.take(19)).toString()).toBe('SSH-2.0-Gatehouse\r\n')
  const length = (await client.take(4)).readUInt32BE()
  expect((length + 4) % 8).toBe(0)
  const packet = await client.take(length)
  expect(packet[0]).toBeGreaterThanOrEqual(4)
  expect([...packet.subarray(1, 6)]).toEqual([1, 0, 0, 0, 1])
  const words = packet.subarray(10, 10 + packet.readUInt32BE(6)).toString()
  expect(words).toContain('A deny rule of Gatehouse names this host. This block is deliberate')
  await client.end()
  expect(await factsWhere(({ port }) => port === 22)).toMatchObject({ state: 'blocked', reason: 'denied', bytesOut: 0 })
})

describe('SOCKS5 greeting', () => {
  it.each([
    ['no method', [5, 0], [5, 255]],
    ['GSSAPI only', [5, 1, 1], [5, 255]],
    ['none', [5, 1, 0], [5, 0]],
    ['none and password', [5, 2, 0, 2], [5, 2]],
    ['password only', [5, 1, 2], [5, 2]],
  ])('offering %s', async (_what, greeting, answer) => {
    const { socksPort } = await startProxy({ rules: ALLOW })
    const client = (await RawClient.open(socksPort)).send(Buffer.from(greeting))
    expect([...(await client.take(2))]).toEqual(answer)
    if (answer[1] === 255) await client.end()
  })

  it('arrives in single bytes as well', async () => {
    const origin = await echoOrigin()
    const { socksPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(socksPort)
    await client.sendSlowly(
      Buffer.concat([Buffer.from([5, 1, 0]), ipv4('127.0.0.1', origin.port), Buffer.from('hi')]),
      1,
    )
    expect((await client.take(2 + 10 + 2)).toString('latin1').slice(-2)).toBe('hi')
  })

  it('SOCKS4 and SOCKS4a are refused in their own words', async () => {
    const { socksPort } = await startProxy({ rules: ALLOW })
    for (const bytes of [
      [4, 1, 0, 80, 127, 0, 0, 1, 0],
      [4, 1, 0, 80, 0, 0, 0, 1, 0, ...Buffer.from('a.test\0')],
    ]) {
      const client = (await RawClient.open(socksPort)).send(Buffer.from(bytes))
      expect([...(await client.take(8))]).toEqual([0, 0x5b, 0, 0, 0, 0, 0, 0])
      await client.end()
    }
  })

  it('both protocols are spoken on both listeners', async () => {
    const { httpPort, socksPort } = await startProxy({ rules: ALLOW })
    const socks = (await RawClient.open(httpPort)).send(Buffer.from([5, 1, 0]))
    expect([...(await socks.take(2))]).toEqual([5, 0])
    const http = (await RawClient.open(socksPort)).send('GET http://x.test/ HTTP/1.1\r\nHost: x.test\r\n\r\n')
    expect((await http.answer()).status).toBe(403)
  })

  it('a client that speaks SOCKS where it is switched off hears so', async () => {
    const { httpPort } = await startProxy({ rules: ALLOW, settings: { socks: undefined } })
    for (const first of [4, 5]) {
      const client = (await RawClient.open(httpPort)).send(Buffer.from([first, 1, 0]))
      expect(await client.answer()).toMatchObject({ status: 400 })
    }
  })
})

describe('SOCKS5 replies', () => {
  it.each([
    ['an unknown host', () => domain('unknown.test', 80), 0x02],
    ['a denied name', () => domain('denied.test', 80), 0x02],
    ['a denied address', () => ipv4('127.0.0.2', 80), 0x02],
    ['a private address', () => ipv4('10.0.0.1', 80), 0x02],
    ['a name that does not resolve', () => domain('nowhere.test', 80), 0x04],
    ['a name that leads into the network', () => domain('inside.test', 80), 0x02],
    ['a closed port', () => ipv4('127.0.0.1', 9), 0x05],
    ['port 0', () => ipv4('127.0.0.1', 0), 0x01],
    ['BIND', () => Buffer.from([5, 2, 0, 1, 127, 0, 0, 1, 0, 80]), 0x07],
    ['an unknown command', () => Buffer.from([5, 9, 0, 1, 127, 0, 0, 1, 0, 80]), 0x07],
    ['an unknown address type', () => Buffer.from([5, 1, 0, 2, 127, 0, 0, 1, 0, 80]), 0x08],
    ['an empty name', () => domain('', 80), 0x08],
    ['a name that is no host', () => domain('a b', 80), 0x08],
  ])('%s', async (_what, bytes, code) => {
    const { socksPort } = await startProxy({
      rules: [...ALLOW, ...rules('allow nowhere.test', 'allow inside.test')],
      names: { 'inside.test': ['10.0.0.1'] },
    })
    const client = await request(socksPort, bytes())
    expect([...(await client.take(10))]).toEqual([5, code, 0, 1, 0, 0, 0, 0, 0, 0])
    await client.end()
    expect(client.received).toHaveLength(0)
  })

  it('UDP is refused whole when it is switched off', async () => {
    const { socksPort } = await startProxy({ settings: { socksUdp: false } })
    const client = await request(socksPort, Buffer.from([5, 3, 0, 1, 0, 0, 0, 0, 0, 0]))
    expect([...(await client.take(10))]).toEqual([5, 7, 0, 1, 0, 0, 0, 0, 0, 0])
  })
})

describe('SOCKS5 tunnels', () => {
  it.each([
    ['an address', (port: number) => ipv4('127.0.0.1', port)],
    ['an address as text', (port: number) => domain('127.0.0.1', port)],
    ['an IPv4 address in IPv6', (port: number) => ipv6(MAPPED_LOOPBACK, port)],
    ['a name', (port: number) => domain('A.Test.', port)],
  ])('to %s tell the bound address and carry bytes, those sent ahead included', async (_what, bytes) => {
    const origin = await echoOrigin()
    const { socksPort, factsWhere } = await startProxy({
      rules: rules('allow 127.0.0.1', 'allow a.test'),
      names: { 'a.test': ['127.0.0.1'] },
      settings: { allowLocalBinding: true },
    })
    const client = await request(socksPort, Buffer.concat([bytes(origin.port), Buffer.from('ahead')]))
    const reply = await client.take(10)
    expect([...reply.subarray(0, 8)]).toEqual([5, 0, 0, 1, 127, 0, 0, 1])
    expect(reply.readUInt16BE(8)).toBeGreaterThan(0)
    expect((await client.take(5)).toString()).toBe('ahead')
    client.socket.end()
    await client.end()
    expect(await factsWhere((facts) => facts.state === 'closed')).toMatchObject({
      protocol: 'socks5Tcp',
      bytesIn: 5,
      bytesOut: 5,
    })
  })

  it('the user name is the lease', async () => {
    const origin = await echoOrigin()
    const { socksPort, proxy, factsWhere } = await startProxy({
      rules: [rule('allow 127.0.0.1', { scope: 'session', sessionId: 'ses_1' as SessionId })],
    })
    await proxy.grantLease({ leaseId: 'lease-1' as LeaseId, sessionId: 'ses_1' as SessionId, command: 'x' })
    for (const [user, code] of [
      ['lease-1', 0],
      ['lease-2', 2],
    ] as const) {
      const client = await RawClient.open(socksPort)
      client.send(
        Buffer.concat([
          Buffer.from([5, 1, 2, 1, user.length]),
          Buffer.from(user),
          Buffer.from([1, 120]),
          ipv4('127.0.0.1', origin.port),
        ]),
      )
      expect([...(await client.take(4))]).toEqual([5, 2, 1, 0])
      expect((await client.take(10))[1]).toBe(code)
    }
    await factsWhere((facts) => facts.leaseId === 'lease-1')
  })

  it('the TLS server name inside is looked at', async () => {
    const origin = await echoOrigin()
    const { socksPort } = await startProxy({ rules: ALLOW })
    const client = await request(socksPort, ipv4('127.0.0.1', origin.port))
    await client.take(10)
    client.send(clientHello('elsewhere.test'))
    await client.end()
    expect(client.received).toHaveLength(0)
  })

  it('limited mode lets only port 443 through, and that only to be read', async () => {
    const { socksPort, proxy } = await startProxy({ rules: ALLOW, settings: { mode: 'limited' } })
    const plain = await request(socksPort, ipv4('127.0.0.1', 80))
    expect((await plain.take(10))[1]).toBe(2)
    const tunnel = await request(socksPort, ipv4('127.0.0.1', 443))
    expect((await tunnel.take(10)).toString('hex')).toBe('05000001000000000000')
    tunnel.send('this is no TLS')
    // What cannot be read ends with an alert.
    expect((await tunnel.take(7)).toString('hex')).toBe('15030300020231')
    await tunnel.end()
    expect(proxy.log.blocks.snapshot().map(({ reason }) => reason)).toEqual(['method_not_allowed', 'mitm_required'])
  })
})
