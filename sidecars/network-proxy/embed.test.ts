import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedProxy, type EmbeddedProxyOptions, type HostDecision } from './embed.ts'
import { ok, scriptedOrigin } from './test-kit/origins.ts'
import { get, RawClient } from './test-kit/raw-client.ts'

const OPTIONS: Omit<EmbeddedProxyOptions, 'onDecision'> = {
  mode: 'full',
  socks: false,
  socksUdp: false,
  allowLocalBinding: true,
  allowUpstreamProxy: false,
  unixSockets: { allowAll: false, paths: {} },
  domains: {},
  review: [],
  environment: {},
}

async function open(options: Partial<EmbeddedProxyOptions> = {}) {
  const decisions: HostDecision[] = []
  const proxy = await openEmbeddedProxy({ ...OPTIONS, onDecision: (decision) => decisions.push(decision), ...options })
  onTestFinished(() => proxy.close())
  const port = Number(new URL(proxy.environment({}).HTTP_PROXY as string).port)
  const ask = async (url: string) => (await (await RawClient.open(port)).send(get(url)).answer()).status
  return { proxy, decisions, ask }
}

describe('an embedded proxy', () => {
  it('tells each single verdict, also of equal requests that records join', async () => {
    const origin = await scriptedOrigin(() => ok('x'))
    const { decisions, ask } = await open({ domains: { '127.0.0.1': 'allow', 'no.test': 'deny' } })
    for (const url of [`http://127.0.0.1:${origin.port}/`, 'http://no.test/', 'http://no.test/']) await ask(url)
    expect(decisions.map(({ host, decision, reason }) => [host, decision, reason])).toEqual([
      ['127.0.0.1', 'allow', 'allow'],
      ['no.test', 'deny', 'denied'],
      ['no.test', 'deny', 'denied'],
    ])
  })

  it('sends everything through the proxy that is the only way out, and nothing around it', async () => {
    const seen: string[] = []
    const above = await scriptedOrigin((request) => {
      seen.push(request.split('\r\n')[0] as string)
      return ok('above')
    })
    const { proxy, ask } = await open({
      socks: true,
      socksUdp: true,
      domains: { '127.0.0.1': 'allow', 'a.test': 'allow' },
      throughProxy: `http://127.0.0.1:${above.port}`,
      environment: { NO_PROXY: '*', HTTP_PROXY: 'http://127.0.0.1:1' },
    })
    expect(proxy.warnings).toEqual([])
    expect(seen).toEqual([])
    expect(await ask('http://a.test/1')).toBe(200)
    expect(await ask('http://127.0.0.1:9/2')).toBe(200)
    expect(await ask('http://b.test/3')).toBe(403)
    expect(seen).toEqual(['GET http://a.test/1 HTTP/1.1', 'GET http://127.0.0.1:9/2 HTTP/1.1'])
  })

  it('holds no more than it can, and forgets whom it held', async () => {
    const answers: ((answer: { type: 'allow' }) => void)[] = []
    const { ask } = await open({ ask: () => new Promise((resolve) => answers.push(resolve)) })
    const origin = await scriptedOrigin(() => ok('x'))
    const url = `http://127.0.0.1:${origin.port}/`
    const held = Array.from({ length: 64 }, () => ask(url))
    await expect.poll(() => answers.length).toBe(64)
    expect(await ask(url)).toBe(403)
    for (const answer of answers.splice(0)) answer({ type: 'allow' })
    expect(await Promise.all(held)).toEqual(held.map(() => 200))
    const next = ask(url)
    await expect.poll(() => answers.length).toBe(1)
    answers[0]?.({ type: 'allow' })
    expect(await next).toBe(200)
  })

  it('withdraws the question when the client leaves', async () => {
    let signal: AbortSignal | undefined
    const { proxy } = await open({
      ask: (_, given) => {
        signal = given
        return new Promise(() => {})
      },
    })
    const client = await RawClient.open(Number(new URL(proxy.environment({}).HTTP_PROXY as string).port))
    client.send(get('http://a.test/'))
    await expect.poll(() => signal?.aborted).toBe(false)
    client.socket.destroy()
    await expect.poll(() => signal?.aborted).toBe(true)
  })

  it.each([
    ['domains', { domains: { 'a b': 'allow' as const } }],
    ['domains', { domains: { '*': 'deny' as const } }],
    ['review', { review: ['http://x'] }],
  ])('names %s when they cannot be used', async (field, options) => {
    await expect(open(options)).rejects.toMatchObject({ name: 'UnusableProxySettings', field })
  })

  it('leaves no certificates behind', async () => {
    const proxy = await openEmbeddedProxy({ ...OPTIONS, mode: 'limited', onDecision: () => {} })
    const bundle = proxy.environment({}).SSL_CERT_FILE as string
    expect(existsSync(bundle)).toBe(true)
    await proxy.close()
    expect(existsSync(dirname(bundle))).toBe(false)
  })
})
