/** What clients get when they are refused, on every wire: one table. */
import { describe, expect, it } from 'vitest'
import type { ProxySettings } from './settings.ts'
import { rules, startProxy, type ProxyFixture } from './test-kit/proxy-fixture.ts'
import { connectTo, get, RawClient } from './test-kit/raw-client.ts'

interface Row {
  reason: string
  /** `host:port`, or `self` for the proxy's own address. */
  to: string
  code: string
  source: string
  socks: number
}

const FULL: Row[] = [
  { reason: 'denied', to: 'denied.test:81', code: 'blocked-by-denylist', source: 'baseline_policy', socks: 2 },
  { reason: 'denied', to: 'x.deep.test:81', code: 'blocked-by-denylist', source: 'baseline_policy', socks: 2 },
  { reason: 'not_allowed', to: 'unlisted.test:81', code: 'blocked-by-allowlist', source: 'baseline_policy', socks: 2 },
  { reason: 'not_allowed', to: '93.184.216.34:81', code: 'blocked-by-allowlist', source: 'baseline_policy', socks: 2 },
  {
    reason: 'not_allowed_local',
    to: '10.0.0.1:81',
    code: 'blocked-by-local-policy',
    source: 'baseline_policy',
    socks: 2,
  },
  {
    reason: 'not_allowed_local',
    to: 'localhost:81',
    code: 'blocked-by-local-policy',
    source: 'baseline_policy',
    socks: 2,
  },
  {
    reason: 'not_allowed_local',
    to: 'private.test:81',
    code: 'blocked-by-local-policy',
    source: 'baseline_policy',
    socks: 2,
  },
  { reason: 'dns_failed', to: 'nowhere.test:81', code: 'blocked-by-local-policy', source: 'baseline_policy', socks: 4 },
  { reason: 'proxy_loop', to: 'self', code: 'blocked-by-policy', source: 'proxy_state', socks: 2 },
]
const LIMITED: Row[] = [
  {
    reason: 'method_not_allowed',
    to: 'allowed.test:81',
    code: 'blocked-by-method-policy',
    source: 'mode_guard',
    socks: 2,
  },
]

const start = (settings: Partial<ProxySettings> = {}): Promise<ProxyFixture> =>
  startProxy({
    rules: rules(
      'deny denied.test',
      'deny **.deep.test',
      'allow allowed.test',
      'allow private.test',
      'allow nowhere.test',
      'allow 127.0.0.1',
    ),
    names: { 'private.test': ['93.184.216.34', '10.0.0.5'], 'allowed.test': ['127.0.0.1'] },
    settings,
  })

const MESSAGE = /^[A-Z].*This block is deliberate: going around the proxy .* will not work\. [A-Z].*\.$/

describe.each([
  ['full', FULL, 'GET'],
  ['limited', LIMITED, 'POST'],
] as const)('in %s mode', (mode, rows, method) => {
  it.each(rows)('$reason for $to', async ({ reason, to, code, source, socks }) => {
    const fixture = await start({ mode })
    const authority = to === 'self' ? `127.0.0.1:${fixture.httpPort}` : to
    const host = authority.replace(/:\d+$/, '')
    const port = Number(authority.slice(host.length + 1))
    const { httpPort, socksPort } = fixture

    const plain = await RawClient.open(httpPort)
    const request = get(`http://${authority}/`).replace(/^GET/, method)
    const answer = await plain.send(request).answer()
    expect(answer).toMatchObject({
      status: 403,
      phrase: 'Blocked by Gatehouse policy',
      headers: { 'content-type': 'application/json', 'x-proxy-error': code, 'x-gatehouse-reason': reason },
    })
    const body = JSON.parse(answer.body.toString()) as Record<string, unknown>
    const message = expect.stringMatching(MESSAGE) as unknown
    const common = { status: 'blocked', host, port, protocol: 'http', reason, decision: 'deny', source }
    expect(body).toEqual({ ...common, message, error: body.message })
    // The connection goes on.
    expect((await plain.send(request).answer()).status).toBe(403)

    if (mode === 'full') {
      const tunnel = await (await RawClient.open(httpPort)).send(connectTo(authority)).answer()
      expect(tunnel).toMatchObject({
        status: 403,
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'x-proxy-error': code,
          'x-gatehouse-reason': reason,
          connection: 'close',
        },
      })
      expect(tunnel.body.toString().trimEnd()).toMatch(MESSAGE)
      expect(tunnel.body.toString().split('\n')).toHaveLength(2)
    }

    const client = await RawClient.open(socksPort)
    client.send(Buffer.from([5, 1, 0]))
    await client.take(2)
    client.send(Buffer.from([5, 1, 0, 3, host.length, ...Buffer.from(host), port >> 8, port & 255]))
    expect([...(await client.take(10))]).toEqual([5, socks, 0, 1, 0, 0, 0, 0, 0, 0])
    await client.end()
  })
})
