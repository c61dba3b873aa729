import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { echoOrigin, rawOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { connectTo, RawClient } from '../test-kit/raw-client.ts'
import { clientHello } from '../test-kit/client-hello-bytes.ts'

const ALLOW = rules('allow 127.0.0.1', 'deny 127.0.0.2')

describe('CONNECT', () => {
  it('opens a tunnel and carries bytes both ways, those sent ahead included', async () => {
    const origin = await echoOrigin()
    const { httpPort, factsWhere } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(`${connectTo(`127.0.0.1:${origin.port}`)}ahead`)
    expect(await client.answer('HEAD')).toMatchObject({ status: 200 })
    expect((await client.take(5)).toString()).toBe('ahead')
    client.send('more')
    expect((await client.take(4)).toString()).toBe('more')
    client.socket.end()
    await client.end()
    expect(await factsWhere((facts) => facts.state === 'closed')).toMatchObject({
      host: '127.0.0.1',
      port: origin.port,
      protocol: 'https',
      method: 'CONNECT',
      address: '127.0.0.1',
      bytesIn: 9,
      bytesOut: 9,
    })
  })

  it('P20 a refusal is one readable line with its reason in the headers', async () => {
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    const answer = await client.send(connectTo('127.0.0.2:443')).answer()
    expect(answer).toMatchObject({
      status: 403,
      phrase: 'Blocked by Gatehouse policy',
      headers: { 'x-proxy-error': 'blocked-by-denylist', 'x-gatehouse-reason': 'denied' },
    })
    expect(answer.body.toString()).toMatch(/^A deny rule of Gatehouse .*deliberate.*owner.*\n$/)
    await client.end()
  })

  it('dials before it says yes: a closed port is 502, not a broken tunnel', async () => {
    const { httpPort } = await startProxy({ rules: ALLOW })
    const answer = await (await RawClient.open(httpPort)).send(connectTo('127.0.0.1:9')).answer()
    expect(answer.status).toBe(502)
    expect(answer.body.toString()).toContain('127.0.0.1:9 refused the connection')
  })

  it('P04 a name that nothing allows is refused without asking a name server', async () => {
    const { httpPort, lookups } = await startProxy({ rules: ALLOW })
    const answer = await (await RawClient.open(httpPort)).send(connectTo('secret.x.invalid:443')).answer()
    expect([answer.status, lookups]).toEqual([403, []])
  })

  it('passes the end of either side on and lets the other side finish', async () => {
    const origin = await rawOrigin((socket) => {
      const parts: Buffer[] = []
      socket.on('data', (bytes: Buffer) => parts.push(bytes))
      // Answers only once the client has ended.
      socket.on('end', () => setTimeout(() => socket.end(`got ${Buffer.concat(parts).toString()}`), 30))
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    client.send('request')
    client.socket.end()
    await client.end()
    expect(client.received.toString()).toBe('got request')
  })

  it('three megabytes followed by the end arrive whole at a slow reader', async () => {
    const body = Buffer.alloc(3_000_000, 'z')
    const origin = await rawOrigin((socket) => socket.end(body))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    client.socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 100))
    client.socket.resume()
    await client.end()
    expect(client.received.equals(body)).toBe(true)
  })

  it('bulk data is the same on both sides, with a fast and with a slow reader', async () => {
    const blocks = Array.from({ length: 64 }, (_, n) => Buffer.alloc(300_000, n))
    const expected = createHash('sha256')
    for (const block of blocks) expected.update(block)
    const origin = await rawOrigin((socket) => {
      for (const block of blocks) socket.write(block)
      socket.end()
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const want = expected.digest('hex')
    const read = async (pauseMs: number) => {
      const client = await RawClient.open(httpPort)
      const hash = createHash('sha256')
      client.send(connectTo(`127.0.0.1:${origin.port}`))
      await client.answer('HEAD')
      hash.update(client.received)
      client.socket.removeAllListeners('data')
      client.socket.on('data', (bytes: Buffer) => {
        hash.update(bytes)
        if (pauseMs === 0) return
        client.socket.pause()
        setTimeout(() => client.socket.resume(), pauseMs)
      })
      await client.end()
      return hash.digest('hex')
    }
    expect(await Promise.all([read(0), read(0), read(2), read(5)])).toEqual([want, want, want, want])
  }, 30_000)

  it('holds a fast origin back while the client does not read', async () => {
    let written = 0
    const origin = await rawOrigin((socket) => {
      const more = () => {
        while (written < 200_000_000) {
          written += 100_000
          if (!socket.write(Buffer.alloc(100_000))) return void socket.once('drain', more)
        }
      }
      more()
    })
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    client.socket.pause()
    let before = -1
    while (before !== written) {
      before = written
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(written).toBeLessThan(50_000_000)
  })

  it('a reset of one side resets the other', async () => {
    const origin = await rawOrigin((socket) => socket.once('data', () => socket.resetAndDestroy()))
    const { httpPort } = await startProxy({ rules: ALLOW })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    const failed = new Promise<Error>((resolve) => client.socket.once('error', resolve))
    client.send('x')
    expect((await failed) as NodeJS.ErrnoException).toMatchObject({ code: 'ECONNRESET' })
  })
})

describe('the TLS server name inside an opaque tunnel', () => {
  const NAMES = { 'a.test': ['127.0.0.1'], 'b.test': ['127.0.0.1'] }
  const settings = { allowLocalBinding: true }

  it.each([
    ['the host of the tunnel', 'a.test', true],
    ['the host in another spelling', 'A.Test', true],
    ['another host that a rule allows', 'b.test', true],
    ['a host that nothing allows', 'c.test', false],
    ['a denied host', 'evil.test', false],
    ['no host at all', undefined, true],
    ['something that is no host', 'a b', false],
  ])('%s: passes is %s', async (_what, serverName, passes) => {
    const origin = await echoOrigin()
    const { httpPort, factsWhere } = await startProxy({
      rules: rules('allow a.test', 'allow b.test', 'deny evil.test'),
      names: NAMES,
      settings,
    })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`a.test:${origin.port}`))
    await client.answer('HEAD')
    const hello = clientHello(serverName)
    client.send(hello)
    if (passes) expect((await client.take(hello.length)).equals(hello)).toBe(true)
    else {
      await client.end()
      expect(client.received).toHaveLength(0)
      expect(await factsWhere((facts) => facts.state === 'blocked')).toMatchObject({ reason: 'sni_mismatch' })
    }
  })

  it.each([
    ['single bytes', 1],
    ['pieces of 100 bytes', 100],
  ])('P40 is found in %s', async (_what, pieceBytes) => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({ rules: rules('allow a.test'), names: NAMES, settings })
    for (const [serverName, passes] of [
      ['a.test', true],
      ['evil.test', false],
    ] as const) {
      const client = await RawClient.open(httpPort)
      client.send(connectTo(`a.test:${origin.port}`))
      await client.answer('HEAD')
      const hello = clientHello(serverName)
      await client.sendSlowly(hello, pieceBytes)
      if (passes) expect((await client.take(hello.length)).equals(hello)).toBe(true)
      else await client.end()
      expect(client.received).toHaveLength(0)
    }
  })

  it('P40 is found when the hello is cut into several TLS records', async () => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({ rules: rules('allow a.test'), names: NAMES, settings })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`a.test:${origin.port}`))
    await client.answer('HEAD')
    client.send(clientHello('evil.test', { recordBytes: 20 }))
    await client.end()
    expect(client.received).toHaveLength(0)
  })

  it('what is not TLS passes untouched', async () => {
    const origin = await echoOrigin()
    const { httpPort } = await startProxy({ rules: rules('allow a.test'), names: NAMES, settings })
    const client = await RawClient.open(httpPort)
    client.send(`${connectTo(`a.test:${origin.port}`)}SSH-2.0-x\r\n`)
    await client.answer('HEAD')
    expect((await client.take(11)).toString()).toBe('SSH-2.0-x\r\n')
  })

  it('a hello that is never finished is not waited for', async () => {
    let nowMs = 1_000_000
    const origin = await echoOrigin()
    const { httpPort, proxy } = await startProxy({ rules: ALLOW, nowMs: () => nowMs })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    client.send(clientHello('a.test').subarray(0, 20))
    nowMs += 6000
    await client.end()
    expect(proxy.log.blocks.snapshot().at(-1)).toMatchObject({ reason: 'sni_mismatch' })
  })
})

it('P46 a tunnel that is silent for 59 minutes still works, one silent for longer than an hour ends', async () => {
  let nowMs = 1_000_000
  const origin = await echoOrigin()
  const { httpPort } = await startProxy({ rules: ALLOW, nowMs: () => nowMs })
  const client = await RawClient.open(httpPort)
  client.send(connectTo(`127.0.0.1:${origin.port}`))
  await client.answer('HEAD')
  nowMs += 59 * 60_000
  await new Promise((resolve) => setTimeout(resolve, 1100))
  client.send('still here')
  expect((await client.take(10)).toString()).toBe('still here')
  await new Promise((resolve) => setTimeout(resolve, 1100))
  nowMs += 61 * 60_000
  await client.end()
})
