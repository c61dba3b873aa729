import { describe, expect, it, onTestFinished } from 'vitest'
import type { LeaseId, SessionId } from '../protocol/ids.ts'
import { openEmbeddedProxy } from './embed.ts'
import { httpOrigin } from './test-kit/origins.ts'
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
