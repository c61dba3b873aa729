import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionFacts } from '../../protocol/host-channel.ts'
import { auditWriter } from './audit-writer.ts'

const AT_MS = Date.UTC(2026, 11, 1, 2, 3, 4, 5)
const fact = (over: Partial<Record<keyof ConnectionFacts, unknown>> = {}): ConnectionFacts =>
  ({
    id: 'con_1',
    host: 'a.test',
    port: 443,
    protocol: 'https',
    method: 'CONNECT',
    state: 'allowed',
    verdict: 'allow',
    bytesIn: 0,
    bytesOut: 0,
    openedAtMs: AT_MS,
    count: 1,
    inspected: false,
    ...over,
  }) as ConnectionFacts

let path: string
let problems: string[]
let write: (facts: ConnectionFacts[]) => Promise<void>
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'audit.jsonl')
  problems = []
  const report = auditWriter(path, (problem) => problems.push(problem))
  write = async (facts) => void (await report(facts))
})
const lines = (): Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('one decision', () => {
  it('has these fields and no others', async () => {
    await write([
      fact({ leaseId: 'lea_1', clientAddress: '127.0.0.1:5', detail: { exchanges: [{ path: '/secret' }] } }),
    ])
    expect(lines()).toEqual([
      {
        'event.name': 'gatehouse.network.policy_decision',
        'event.timestamp': '2026-12-01T02:03:04.005Z',
        'network.policy.scope': 'domain',
        'network.policy.decision': 'allow',
        'network.policy.source': 'baseline_policy',
        'network.policy.reason': 'allow',
        'network.transport.protocol': 'https_connect',
        'server.address': 'a.test',
        'server.port': 443,
        'http.request.method': 'CONNECT',
        'client.address': '127.0.0.1:5',
        'execution.id': 'lea_1',
        'network.policy.override': false,
      },
    ])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it.each([
    [
      'a rule denies',
      { state: 'blocked', verdict: 'deny', reason: 'denied' },
      'domain deny baseline_policy denied false',
    ],
    [
      'the mode forbids',
      { state: 'blocked', verdict: 'deny', reason: 'method_not_allowed', detail: { source: 'mode_guard' } },
      'non_domain deny mode_guard method_not_allowed false',
    ],
    [
      'the proxy is off',
      { state: 'blocked', verdict: 'deny', reason: 'proxy_disabled', detail: { source: 'proxy_state' } },
      'non_domain deny proxy_state proxy_disabled false',
    ],
    ['the owner is asked', { state: 'asked', verdict: undefined }, 'domain ask baseline_policy not_allowed false'],
    ['the owner allows', { requestId: 'req_1' }, 'domain allow decider not_allowed true'],
    [
      'the owner denies',
      { state: 'blocked', verdict: 'deny', reason: 'policy_denied', requestId: 'req_1', detail: { source: 'decider' } },
      'domain deny decider policy_denied false',
    ],
  ])('when %s', async (_what, over, expected) => {
    await write([fact(over)])
    const words = ['scope', 'decision', 'source', 'reason', 'override'].map(
      (name) => lines()[0]?.[`network.policy.${name}`],
    )
    expect(words.join(' ')).toBe(expected)
  })

  it.each([
    ['http', 'http'],
    ['websocket', 'http'],
    ['https', 'https_connect'],
    ['socks5Tcp', 'socks5_tcp'],
    ['socks5Udp', 'socks5_udp'],
  ])('over %s is told as %s', async (protocol, told) => {
    await write([fact({ protocol, method: undefined })])
    expect(lines()[0]).toMatchObject({ 'network.transport.protocol': told, 'http.request.method': 'none' })
  })

  it('is written once, however often the connection is told about; the answer to a question is another', async () => {
    await write([fact({ state: 'asked', verdict: undefined })])
    await write([fact({ state: 'asked', verdict: undefined })])
    await write([fact({ requestId: 'req_1' }), fact({ requestId: 'req_1', bytesIn: 9 })])
    await write([fact({ requestId: 'req_1', state: 'closed', closedAtMs: AT_MS + 1 })])
    expect(lines().map((line) => line['network.policy.decision'])).toEqual(['ask', 'allow'])
  })
})

it('a file that is large is put aside, and three of those are kept', async () => {
  const large = 'x'.repeat(10 * 1024 * 1024)
  for (let n = 0; n < 5; n++) {
    writeFileSync(path, large)
    await write([fact({ id: `con_${n}` })])
  }
  expect(readdirSync(join(path, '..')).sort()).toEqual(['audit.jsonl', ...[1, 2, 3].map((n) => `audit.jsonl.${n}`)])
  expect(lines()).toHaveLength(1)
})

it('a disk that fails costs lines and says so', async () => {
  rmSync(join(path, '..'), { recursive: true })
  await write([fact()])
  expect(problems).toEqual([expect.stringMatching(/^audit file .*ENOENT.*; 1 decisions were not written$/)])
})
