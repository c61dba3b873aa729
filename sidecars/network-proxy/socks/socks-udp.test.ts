import { createSocket, type Socket } from 'node:dgram'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rules, startProxy, type FixtureOptions, type ProxyFixture } from '../test-kit/proxy-fixture.ts'
import { RawClient } from '../test-kit/raw-client.ts'

const ALLOW = rules('allow 127.0.0.1', 'allow a.test', 'deny 127.0.0.2')

interface UdpPeer {
  port: number
  received: Buffer[]
  send(bytes: Buffer, port: number, address?: string): void
  next(): Promise<Buffer>
}

async function udpPeer(onMessage?: (socket: Socket, bytes: Buffer, port: number) => void): Promise<UdpPeer> {
  const socket = createSocket('udp4')
  const received: Buffer[] = []
  const waiters: ((bytes: Buffer) => void)[] = []
  socket.on('message', (bytes, from) => {
    const waiter = waiters.shift()
    if (waiter) waiter(bytes)
    else received.push(bytes)
    onMessage?.(socket, bytes, from.port)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => void socket.close())
  return {
    port: socket.address().port,
    received,
    send: (bytes, port, address = '127.0.0.1') => void socket.send(bytes, port, address),
    next: () => {
      const first = received.shift()
      return first ? Promise.resolve(first) : new Promise((resolve) => waiters.push(resolve))
    },
  }
}

const echoPeer = () => udpPeer((socket, bytes, port) => void socket.send(bytes, port, '127.0.0.1'))

const toIpv4 = (address: string, port: number, payload: string, fragment = 0): Buffer =>
  Buffer.concat([
    Buffer.from([0, 0, fragment, 1, ...address.split('.').map(Number), port >> 8, port & 255]),
    Buffer.from(payload),
  ])
const toName = (name: string, port: number, payload: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, 0, 0, 3, name.length, ...Buffer.from(name), port >> 8, port & 255]),
    Buffer.from(payload),
  ])

/** Associates with an all-zero declared address, the normal case. */
async function associate(
  options: FixtureOptions = {},
): Promise<ProxyFixture & { control: RawClient; relayPort: number }> {
  const fixture = await startProxy({ rules: ALLOW, ...options })
  const control = await RawClient.open(fixture.socksPort)
  control.send(Buffer.from([5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]))
  await control.take(2)
  const reply = await control.take(10)
  expect([...reply.subarray(0, 8)]).toEqual([5, 0, 0, 1, 127, 0, 0, 1])
  return { ...fixture, control, relayPort: reply.readUInt16BE(8) }
}

describe('UDP associations', () => {
  it('carry datagrams there and answers back in their envelope, although no address was declared', async () => {
    const { relayPort, factsWhere } = await associate()
    const origin = await echoPeer()
    const client = await udpPeer()
    client.send(toIpv4('127.0.0.1', origin.port, 'ping'), relayPort)
    expect((await client.next()).equals(toIpv4('127.0.0.1', origin.port, 'ping'))).toBe(true)
    await factsWhere((facts) => facts.protocol === 'socks5Udp' && facts.state === 'allowed')
  })

  it('judge a name by the name and answer with the address', async () => {
    const { relayPort, lookups } = await associate({
      names: { 'a.test': ['127.0.0.1'] },
      settings: { allowLocalBinding: true },
    })
    const origin = await echoPeer()
    const client = await udpPeer()
    for (const text of ['one', 'two']) client.send(toName('a.test', origin.port, text), relayPort)
    const answers = [await client.next(), await client.next()].map((bytes) => bytes.toString('latin1').slice(10))
    expect(answers).toEqual(['one', 'two'])
    expect(lookups).toEqual(['a.test'])
  })

  it('drop refused, fragmented and malformed datagrams and live on', async () => {
    const { relayPort, proxy } = await associate()
    const origin = await echoPeer()
    const client = await udpPeer()
    for (const bytes of [
      toIpv4('127.0.0.2', origin.port, 'denied'),
      toIpv4('127.0.0.2', origin.port, 'denied again'),
      toName('unknown.test', 53, 'unlisted'),
      toIpv4('127.0.0.1', origin.port, 'fragment', 1),
      toIpv4('127.0.0.1', 0, 'port 0'),
      toName('', 53, 'no name'),
      Buffer.from([0, 0, 0]),
      Buffer.from([0, 0, 0, 9, 1]),
      Buffer.alloc(0),
    ])
      client.send(bytes, relayPort)
    client.send(toIpv4('127.0.0.1', origin.port, 'fine'), relayPort)
    expect((await client.next()).toString('latin1').slice(10)).toBe('fine')
    expect(origin.received.map(String)).toEqual(['fine'])
    expect(proxy.log.blocks.snapshot().map(({ host, count }) => [host, count])).toEqual([
      ['127.0.0.2', 2],
      ['unknown.test', 1],
    ])
  })

  it('hear only the client that spoke first, and only the destination that was asked', async () => {
    const { relayPort } = await associate()
    const origin = await echoPeer()
    const client = await udpPeer()
    const stranger = await udpPeer()
    client.send(toIpv4('127.0.0.1', origin.port, 'mine'), relayPort)
    await client.next()
    stranger.send(toIpv4('127.0.0.1', origin.port, 'stolen'), relayPort)
    stranger.send(Buffer.from('injected'), relayPort)
    client.send(toIpv4('127.0.0.1', origin.port, 'mine too'), relayPort)
    expect((await client.next()).toString('latin1').slice(10)).toBe('mine too')
    expect(origin.received.map(String)).toEqual(['mine', 'mine too'])
    expect(stranger.received).toEqual([])
  })

  it('end with their control connection', async () => {
    const { control, relayPort, factsWhere } = await associate()
    const origin = await echoPeer()
    const client = await udpPeer()
    client.send(toIpv4('127.0.0.1', origin.port, 'x'), relayPort)
    await client.next()
    control.destroy()
    await factsWhere((facts) => facts.state === 'closed')
    client.send(toIpv4('127.0.0.1', origin.port, 'too late'), relayPort)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(origin.received.map(String)).toEqual(['x'])
  })

  it('obey new rules with the next datagram', async () => {
    const { relayPort, proxy, factsWhere } = await associate()
    const origin = await echoPeer()
    const client = await udpPeer()
    client.send(toIpv4('127.0.0.1', origin.port, 'before'), relayPort)
    await client.next()
    proxy.setRules(2, rules('deny 127.0.0.1'))
    client.send(toIpv4('127.0.0.1', origin.port, 'after'), relayPort)
    expect(await factsWhere((facts) => facts.state === 'blocked')).toMatchObject({ reason: 'denied' })
    expect(origin.received.map(String)).toEqual(['before'])
  })

  it('keep nothing while the owner is asked', async () => {
    let answer = () => {}
    const { relayPort } = await associate({
      rules: [],
      settings: { unknownHost: 'ask', allowLocalBinding: true },
      askHost: () =>
        new Promise((resolve) => {
          answer = () => resolve({ requestId: 'req_1' as never, decision: never(), environment: {} })
        }),
    })
    const origin = await echoPeer()
    const client = await udpPeer()
    client.send(toIpv4('127.0.0.1', origin.port, 'while asked'), relayPort)
    await new Promise((resolve) => setTimeout(resolve, 100))
    answer()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(origin.received).toEqual([])
  })
})

function never(): never {
  return { verdict: 'deny', scope: 'once', actor: { kind: 'policy' }, subjectHash: '', decidedAtMs: 0 } as never
}
