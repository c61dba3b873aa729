import { describe, expect, it } from 'vitest'
import { RpcError } from '../rpc/rpc-error.ts'
import type { LeaseId, ProcessId, SessionId } from '../protocol/ids.ts'
import { echoOrigin, ok, scriptedOrigin } from './test-kit/origins.ts'
import { eventually, Owner } from './test-kit/owner.ts'
import { rule, rules, startProxy, type FixtureOptions } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

const NAMES = { 'a.test': ['127.0.0.1'], 'inside.test': ['127.0.0.1'] }

async function asking(options: FixtureOptions = {}) {
  const owner = new Owner()
  const fixture = await startProxy({
    askHost: owner.ask,
    names: NAMES,
    ...options,
    settings: { unknownHost: 'ask', allowLocalBinding: true, ...options.settings },
  })
  return { owner, ...fixture }
}

describe('an unknown host', () => {
  it('P04 is asked about on the held connection, looked up only after the yes, and once', async () => {
    const origin = await echoOrigin()
    const { owner, httpPort, lookups, factsWhere } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(`${connectTo(`a.test:${origin.port}`)}early`)
    const question = await owner.question()
    expect(question.subject).toEqual({
      kind: 'connection',
      host: 'a.test',
      port: origin.port,
      protocol: 'https',
      method: 'CONNECT',
    })
    expect(lookups).toEqual([])
    await factsWhere((facts) => facts.state === 'asked')
    question.answer('allow')
    expect((await client.answer('HEAD')).status).toBe(200)
    expect((await client.take(5)).toString()).toBe('early')
    expect(lookups).toEqual(['a.test'])
    expect(await factsWhere((facts) => facts.state === 'allowed')).toMatchObject({ requestId: 'req_1' })
  })

  it('a plain request goes on too, and the next one is asked about again', async () => {
    const origin = await scriptedOrigin((request) => ok(request.split(' ')[1]!))
    const { owner, httpPort } = await asking()
    const client = await RawClient.open(httpPort)
    for (const n of [1, 2]) {
      client.send(get(`http://a.test:${origin.port}/${n}`))
      const question = await owner.question(n)
      question.answer('allow')
      expect((await client.answer()).body.toString()).toBe(`/${n}`)
    }
  })

  it('a no carries the owner’s words, made harmless', async () => {
    const { owner, httpPort, factsWhere } = await asking()
    for (const [request, n] of [
      [get('http://a.test/'), 1],
      [connectTo('a.test:443'), 2],
    ] as const) {
      const client = await RawClient.open(httpPort)
      client.send(request)
      const question = await owner.question(n)
      question.answer('deny', { reason: 'not <now>\r\nX-Injected: 1\u202e' })
      const answer = await client.answer()
      expect(answer).toMatchObject({ status: 403, headers: { 'x-gatehouse-reason': 'policy_denied' } })
      expect(answer.headers['x-injected']).toBeUndefined()
      expect(answer.body.toString()).toContain('not now X-Injected: 1')
      expect(answer.body.toString()).not.toMatch(/[<>\u202e]/)
    }
    await factsWhere((facts) => facts.state === 'blocked' && facts.reason === 'policy_denied')
  })

  it('P17 waits as long as it takes, and the question goes when the client does', async () => {
    const { owner, httpPort, factsWhere } = await asking()
    for (const [request, n] of [
      [connectTo('a.test:443'), 1],
      [get('http://a.test/'), 2],
    ] as const) {
      const client = await RawClient.open(httpPort)
      client.send(request)
      const question = await owner.question(n)
      client.destroy()
      await eventually(() => question.withdrawn)
    }
    await factsWhere((facts) => facts.state === 'closed')
  })

  it('a client that ends its side while the owner is asked counts as gone', async () => {
    const { owner, httpPort } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(connectTo('a.test:443'))
    const question = await owner.question()
    client.socket.end()
    await eventually(() => question.withdrawn)
    await client.end()
    expect(client.received).toHaveLength(0)
  })

  it('expires into a refusal, and the question is withdrawn', async () => {
    const { owner, httpPort } = await asking({ settings: { askTimeoutMs: 50 } })
    const client = await RawClient.open(httpPort)
    client.send(get('http://a.test/'))
    const question = await owner.question()
    expect((await client.answer()).headers['x-gatehouse-reason']).toBe('approval_timeout')
    expect(question.withdrawn).toBe(true)
  })

  it.each([
    ['a lost host', new RpcError('disconnected', 'gone')],
    ['an expiry over there', new RpcError('timedOut', 'late')],
    ['an error nobody foresaw', new Error('boom')],
  ])('%s is a refusal', async (_what, error) => {
    const { owner, httpPort } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(get('http://a.test/'))
    ;(await owner.question()).fail(error)
    expect((await client.answer()).status).toBe(403)
  })

  it('a yes to something else is a refusal', async () => {
    const { owner, httpPort } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(get('http://a.test/'))
    ;(await owner.question()).answer('allow', { subjectHash: 'f'.repeat(64) })
    expect((await client.answer()).headers['x-gatehouse-reason']).toBe('policy_denied')
  })

  it('a deny that came meanwhile beats the yes', async () => {
    const { owner, httpPort, proxy } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(get('http://a.test/'))
    const question = await owner.question()
    proxy.setRules(2, rules('deny a.test'))
    // The held connection ends with the new rule; nobody waits for the answer any more.
    await eventually(() => question.withdrawn)
    question.answer('allow')
    await client.end()
    expect(client.received.toString()).not.toContain('200')
  })

  it('a name that leads into the network beats the yes', async () => {
    const origin = await echoOrigin()
    const { owner, httpPort } = await asking({ settings: { allowLocalBinding: false } })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`inside.test:${origin.port}`))
    ;(await owner.question()).answer('allow')
    expect((await client.answer()).headers['x-gatehouse-reason']).toBe('not_allowed_local')
    expect(origin.connections).toBe(0)
  })

  it('a local literal is refused without asking', async () => {
    const { owner, httpPort } = await asking({ settings: { allowLocalBinding: false } })
    const client = await RawClient.open(httpPort)
    expect((await client.send(get('http://127.0.0.1/')).answer()).headers['x-gatehouse-reason']).toBe(
      'not_allowed_local',
    )
    expect(owner.questions).toHaveLength(0)
  })

  it('every connection asks on its own, 32 hosts at once at most', async () => {
    const { owner, httpPort } = await asking()
    const clients: RawClient[] = []
    for (let n = 0; n < 32; n++) clients.push((await RawClient.open(httpPort)).send(get(`http://h${n}.test/`)))
    clients.push((await RawClient.open(httpPort)).send(get('http://h0.test/')))
    await owner.question(33)
    const tooMany = (await RawClient.open(httpPort)).send(get('http://h99.test/'))
    expect((await tooMany.answer()).headers['x-gatehouse-reason']).toBe('policy_denied')
    for (const question of owner.questions) question.answer('deny')
    for (const client of clients) expect((await client.answer()).status).toBe(403)
    const next = (await RawClient.open(httpPort)).send(get('http://h99.test/'))
    ;(await owner.question(34)).answer('deny')
    expect((await next.answer()).status).toBe(403)
  })

  it('a client that sends a flood ahead while it waits is held back, not buffered', async () => {
    const { owner, httpPort } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(connectTo('a.test:443'))
    await owner.question()
    let sent = 0
    while (sent < 64_000_000 && client.socket.write(Buffer.alloc(1_000_000))) sent += 1_000_000
    expect(client.socket.writableLength).toBeGreaterThan(0)
  })
})

describe('who asks', () => {
  const lease = {
    leaseId: 'lea_1' as LeaseId,
    sessionId: 'ses_1' as SessionId,
    processId: 'prc_1' as ProcessId,
    command: 'curl',
  }

  it('P19 a question and a block name the process, whichever way its connection shows the lease', async () => {
    const { owner, httpPort, proxy, facts } = await asking()
    const environment = await proxy.grantLease(lease)
    const own = Number(new URL(environment.HTTP_PROXY!).port)
    const byListener = (await RawClient.open(own)).send(get('http://a.test/'))
    const credential = `Proxy-Authorization: Basic ${Buffer.from('lea_1:').toString('base64')}\r\n`
    const byCredential = (await RawClient.open(httpPort)).send(get('http://a.test/', credential))
    const nobody = (await RawClient.open(httpPort)).send(get('http://a.test/', 'Proxy-Authorization: Basic eDo=\r\n'))
    await owner.question(3)
    expect(owner.questions.map(({ sessionId }) => sessionId)).toEqual(['ses_1', 'ses_1', 'unknown'])
    for (const question of owner.questions) question.answer('deny')
    for (const client of [byListener, byCredential, nobody]) await client.answer()
    await eventually(() => facts().filter(({ state }) => state === 'blocked').length === 3)
    expect(facts().map(({ leaseId }) => leaseId)).toEqual(['lea_1', 'lea_1', undefined])
  })

  it('rules of a session hold for its processes and nobody else', async () => {
    const origin = await scriptedOrigin(() => ok('x'))
    const { httpPort, proxy } = await startProxy({
      rules: [rule(`allow 127.0.0.1:${origin.port}`, { scope: 'session', sessionId: 'ses_1' as SessionId })],
    })
    const { HTTP_PROXY } = await proxy.grantLease(lease)
    const url = `http://127.0.0.1:${origin.port}/`
    expect((await (await RawClient.open(Number(new URL(HTTP_PROXY!).port))).send(get(url)).answer()).status).toBe(200)
    expect((await (await RawClient.open(httpPort)).send(get(url)).answer()).status).toBe(403)
  })

  it('a revoked lease ends its listener and its connections', async () => {
    const origin = await echoOrigin()
    const { proxy, factsWhere } = await startProxy({ rules: rules('allow 127.0.0.1') })
    const { HTTP_PROXY } = await proxy.grantLease(lease)
    const port = Number(new URL(HTTP_PROXY!).port)
    const tunnel = await RawClient.open(port)
    tunnel.send(connectTo(`127.0.0.1:${origin.port}`))
    await tunnel.answer('HEAD')
    await proxy.revokeLease(lease.leaseId)
    await tunnel.end()
    await factsWhere((facts) => facts.leaseId === 'lea_1' && facts.state === 'closed')
    await expect(RawClient.open(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('rules that change while connections are open', () => {
  it('P08 the next request obeys, and a later deny ends the tunnel an earlier allow opened', async () => {
    const origin = await echoOrigin()
    const { httpPort, proxy, factsWhere } = await startProxy()
    const refused = await RawClient.open(httpPort)
    expect((await refused.send(connectTo(`127.0.0.1:${origin.port}`)).answer()).status).toBe(403)
    proxy.setRules(2, rules('allow 127.0.0.1'))
    expect(proxy.revision).toBe(2)
    const client = await RawClient.open(httpPort)
    expect((await client.send(connectTo(`127.0.0.1:${origin.port}`)).answer('HEAD')).status).toBe(200)
    proxy.setRules(3, rules('deny 127.0.0.1'))
    await client.end()
    expect(await factsWhere((facts) => facts.state === 'blocked' && facts.reason === 'denied')).toMatchObject({
      port: origin.port,
    })
  })

  it('an approved tunnel lives on while no rule denies it', async () => {
    const origin = await echoOrigin()
    const { owner, httpPort, proxy } = await asking()
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`a.test:${origin.port}`))
    ;(await owner.question()).answer('allow')
    await client.answer('HEAD')
    proxy.setRules(2, rules('allow other.test'))
    client.send('alive')
    expect((await client.take(5)).toString()).toBe('alive')
  })

  it('limited mode ends the tunnels that nobody can look into', async () => {
    const origin = await echoOrigin()
    const { httpPort, proxy, factsWhere } = await startProxy({ rules: rules('allow 127.0.0.1') })
    const client = await RawClient.open(httpPort)
    client.send(connectTo(`127.0.0.1:${origin.port}`))
    await client.answer('HEAD')
    proxy.configure({ ...(await import('./test-kit/proxy-fixture.ts')).SETTINGS, mode: 'limited' })
    await client.end()
    expect(await factsWhere((facts) => facts.state === 'blocked')).toMatchObject({ reason: 'mitm_required' })
  })
})
