import { describe, expect, it } from 'vitest'
import { ok, scriptedOrigin } from './test-kit/origins.ts'
import { eventually } from './test-kit/owner.ts'
import { rules, startProxy } from './test-kit/proxy-fixture.ts'
import { get, RawClient } from './test-kit/raw-client.ts'
import { SEED } from '../testing/seed.ts'

/** A small generator, so that a failure names its seed and can be run again. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'CONNECT', 'get', 'PRI', 'G T', '']
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 ']
const LINE_ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n\r\n']
const FIELDS = [
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 5, 5',
  'Content-Length: +5',
  'Content-Length : 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: \x0bchunked',
  'Connection: close',
  'Connection: keep-alive, Host, X-A',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'X-A: \x00',
  'X-A: \u00ff',
  ' folded',
  ': empty',
  'NoColon',
  'Proxy-Authorization: Basic eDp5',
  'TE: trailers',
]
const BODIES = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  '0\r\nX: y\r\n\r\n',
  'ffffffffffffffff\r\n',
  '-1\r\n\r\n',
]

/** One request-like text; targets name the allowed host, the denied one, or neither. */
function request(random: (below: number) => number, allowed: string, denied: string): string {
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!
  const authority = pick([
    allowed,
    allowed,
    denied,
    `x@${denied}`,
    `${denied}.`,
    denied.replace('127.0.0.2', '127.0.2'),
    'other.test',
    '',
  ])
  const target = pick([
    `http://${authority}/p`,
    `http://${authority}/p`,
    authority,
    '/p',
    '*',
    `https://${authority}/`,
    `http://${authority}\\@${allowed}/`,
  ])
  const hosts = pick([[authority], [authority], [authority], [allowed], [denied], [allowed, denied], []])
  const end = () => pick(LINE_ENDS)
  let text = `${pick(METHODS)} ${target} ${pick(VERSIONS)}${end()}`
  for (const host of hosts) text += `Host: ${host}${end()}`
  for (let n = random(4); n > 0; n--) text += `${pick(FIELDS)}${end()}`
  return `${text}\r\n${pick(BODIES)}`
}

// The full hundred thousand run with GATEHOUSE_FUZZ_REQUESTS=100000; a sample runs every time.
const REQUESTS = Number(process.env.GATEHOUSE_FUZZ_REQUESTS ?? 6000)

describe('random requests', () => {
  it(`${REQUESTS} of them: the denied origin is never reached, the proxy never dies and closes what it opened`, async () => {
    const uncaught: unknown[] = []
    const onUncaught = (error: unknown) => void uncaught.push(error)
    process.on('uncaughtException', onUncaught)
    const origin = await scriptedOrigin((text) => ok(text.startsWith('HEAD') ? '' : 'x'))
    const denied = await scriptedOrigin(() => ok('reached'), '127.0.0.2')
    const { httpPort, proxy } = await startProxy({ rules: rules('allow 127.0.0.1', 'deny 127.0.0.2') })
    const seed = SEED
    const random = generator(seed)
    let sent = 0
    const worker = async () => {
      while (sent < REQUESTS) {
        const client = await RawClient.open(httpPort)
        const batch = 1 + random(6)
        let text = ''
        for (let n = 0; n < batch; n++) text += request(random, `127.0.0.1:${origin.port}`, `127.0.0.2:${denied.port}`)
        sent += batch
        if (random(10) === 0) await client.sendSlowly(Buffer.from(text.slice(0, 200), 'latin1'), 1 + random(20))
        else client.send(text)
        if (random(3) === 0) client.socket.resetAndDestroy()
        else {
          client.socket.end()
          await client.end()
          client.destroy()
        }
      }
    }
    await Promise.all(Array.from({ length: 16 }, worker))
    expect([denied.connections, uncaught], `seed ${seed}`).toEqual([0, []])
    const after = await RawClient.open(httpPort)
    expect((await after.send(get(`http://127.0.0.1:${origin.port}/`)).answer()).body.toString()).toBe('x')
    after.destroy()
    await proxy.close(0)
    await eventually(() => origin.sockets.size === 0)
    process.off('uncaughtException', onUncaught)
  }, 600_000)

  it('random bytes are nobody’s protocol', async () => {
    const random = generator(7)
    const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
    for (let n = 0; n < 300; n++) {
      const client = await RawClient.open(httpPort)
      client.send(Buffer.from(Array.from({ length: 1 + random(200) }, () => random(256))))
      client.socket.end()
      await client.end()
      client.destroy()
    }
    expect((await (await RawClient.open(httpPort)).send(get('http://x.test/')).answer()).status).toBe(403)
  })
})
