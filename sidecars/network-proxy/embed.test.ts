import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LeaseId, SessionId } from '../protocol/ids.ts'
import { openEmbeddedProxy, type EmbeddedProxyOptions, type HostDecision } from './embed.ts'
import { httpOrigin, ok, scriptedOrigin } from './test-kit/origins.ts'
import { rule, startProxy } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

/** The proxy of one execution, behind that of its session. */
async function executionIn(session: [pattern: string, verdict: 'allow' | 'deny'][], execution: string[]) {
  const origin = await httpOrigin((_request, response) => response.end('ok'))
  const { proxy } = await startProxy({
    names: { 'a.test': ['127.0.0.1'], 'b.test': ['127.0.0.1'] },
    settings: { allowLocalBinding: true },
    rules: session.map(([pattern, verdict]) => ({
      ...rule(`${verdict} ${pattern}`),
      scope: 'session',
      sessionId: 'ses_1' as SessionId,
    })),
  })
  const lease = await proxy.grantLease({ leaseId: 'lea_1' as LeaseId, sessionId: 'ses_1' as SessionId })
  const embedded = await openEmbeddedProxy({
    mode: 'full',
    socks: false,
    socksUdp: false,
    allowLocalBinding: true,
    allowUpstreamProxy: false,
    unixSockets: { allowAll: false, paths: {} },
    domains: Object.fromEntries(execution.map((pattern) => [pattern, 'allow'])),
    review: [],
    onDecision() {},
    throughProxy: lease.HTTP_PROXY,
    environment: {},
  })
  onTestFinished(() => embedded.close())
  const port = Number(new URL(embedded.environment({}).HTTP_PROXY!).port)
  const statusOf = async (request: string) => (await (await RawClient.open(port)).send(request).answer('HEAD')).status
  return async (host: string) => [
    await statusOf(get(`http://${host}:${origin.port}/`)),
    await statusOf(connectTo(`${host}:${origin.port}`)),
  ]
}

describe('P16 rules of one execution and those of its session intersect', () => {
  it('what only the session allows is refused', async () => {
    const reach = await executionIn([['*', 'allow']], ['a.test'])
    expect(await reach('a.test')).toEqual([200, 200])
    expect(await reach('b.test')).toEqual([403, 403])
  })

  it('what only the execution allows is refused, and what the session denies as well', async () => {
    const reach = await executionIn(
      [
        ['a.test', 'allow'],
        ['denied.test', 'deny'],
      ],
      ['*'],
    )
    expect(await reach('a.test')).toEqual([200, 200])
    // A tunnel that the next proxy refuses is a failed hop, as the reason there says.
    expect((await reach('b.test')).every((status) => status >= 400)).toBe(true)
    expect((await reach('denied.test')).every((status) => status >= 400)).toBe(true)
  })
})

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

  it('hands the words of a refusal on, also where there is no room for a form', async () => {
    const { proxy } = await open({ ask: async () => ({ type: 'ask', reason: 'the owner is asked' }) })
    const client = await RawClient.open(Number(new URL(proxy.environment({}).HTTP_PROXY as string).port))
    const { status, body } = await client.send(connectTo('a.test:443')).answer()
    expect(status).toBe(403)
    expect(String(body)).toContain('The request was refused: the owner is asked.')
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
