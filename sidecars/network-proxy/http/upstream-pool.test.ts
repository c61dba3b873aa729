import { describe, expect, it, onTestFinished } from 'vitest'
import { ok, scriptedOrigin } from '../test-kit/origins.ts'
import { rules, startProxy } from '../test-kit/proxy-fixture.ts'
import { get, RawClient } from '../test-kit/raw-client.ts'
import { eventually } from '../test-kit/owner.ts'
import { TcpUpstream } from '../dial/tcp-upstream.ts'
import { UpstreamPool } from './upstream-pool.ts'

/** A connection to `port` that is established. */
async function connection(port: number): Promise<TcpUpstream> {
  const upstream = new TcpUpstream('127.0.0.1', port)
  upstream.sink = { onBytes() {}, onEnd() {}, onClose() {} }
  onTestFinished(() => upstream.destroy())
  await new Promise<void>((resolve) => upstream.socket.once('connect', resolve))
  return upstream
}

describe('UpstreamPool', () => {
  it('gives a user its own connection first, then the latest of others, and those only to requests that may be repeated', async () => {
    const { port } = await scriptedOrigin(() => ok(''))
    const pool = new UpstreamPool()
    onTestFinished(() => pool.close())
    const [mine, theirs] = [await connection(port), await connection(port)]
    const [me, them, other] = [{}, {}, {}]
    pool.put('k', mine, me, false)
    pool.put('k', theirs, them, false)
    expect(pool.take('k', other, false)).toBeUndefined()
    expect(pool.take('k', me, true)).toBe(mine)
    expect(pool.take('k', me, true)).toBe(theirs)
    expect([pool.take('k', me, true), pool.size]).toEqual([undefined, 0])
  })

  it('a connection that ends, or speaks unasked, while idle is gone', async () => {
    const origin = await scriptedOrigin(() => ok(''))
    const pool = new UpstreamPool()
    onTestFinished(() => pool.close())
    for (const act of ['end', 'speak'] as const) {
      pool.put('k', await connection(origin.port), {}, false)
      await eventually(() => origin.sockets.size > 0)
      for (const socket of origin.sockets)
        if (act === 'end') socket.end()
        else socket.write('HTTP/1.1 408 Request Timeout\r\n\r\n')
      await eventually(() => pool.size === 0)
      expect(pool.take('k', {}, true)).toBeUndefined()
    }
  })

  it('keeps none longer than four seconds', async () => {
    let nowMs = 0
    const { port } = await scriptedOrigin(() => ok(''))
    const pool = new UpstreamPool(() => nowMs)
    onTestFinished(() => pool.close())
    pool.put('k', await connection(port), {}, false)
    nowMs += 4001
    await eventually(() => pool.size === 0)
  })
})

it('a connection that was authenticated as a whole serves its own client alone', async () => {
  const origin = await scriptedOrigin((request) =>
    request.includes('Authorization: NTLM') ? ok('in') : ok('who are you', 'WWW-Authenticate: Basic realm="x"\r\n'),
  )
  const { httpPort } = await startProxy({ rules: rules('allow 127.0.0.1') })
  const url = `http://127.0.0.1:${origin.port}/`
  const insider = await RawClient.open(httpPort)
  for (let n = 0; n < 3; n++)
    expect((await insider.send(get(url, 'Authorization: NTLM TlRMTVNTUAAB\r\n')).answer()).body.toString()).toBe('in')
  expect(origin.connections).toBe(1)
  const outsider = await RawClient.open(httpPort)
  await outsider.send(get(url)).answer()
  expect(origin.connections).toBe(2)
})
