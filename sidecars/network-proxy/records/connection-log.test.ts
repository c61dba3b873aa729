import { describe, expect, it, vi } from 'vitest'
import type { ConnectionFacts } from '../../protocol/host-channel.ts'
import type { Attribution } from '../leases.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import { eventually } from '../test-kit/owner.ts'
import { auditEvent } from './audit-writer.ts'
import { ConnectionLog, type ReportFacts } from './connection-log.ts'

const refusal: Refusal = { reason: 'denied', source: 'baseline_policy', ruleId: 'rul_1' }
const to = (host: string, port = 443): Destination => ({ host, port, protocol: 'https', method: 'CONNECT' })
const NOBODY: Attribution = {}

function log(report: ReportFacts = () => {}, nowMs: () => number = () => 1000, maxUnreported = 5000): ConnectionLog {
  return new ConnectionLog({ report, nowMs, flushEveryMs: 1, countEveryMs: 10, maxUnreported })
}

describe('blocks', () => {
  it('equal ones within ten seconds are one record with a count', () => {
    let nowMs = 1000
    const l = log(undefined, () => nowMs)
    for (let n = 0; n < 200; n++) l.block(to('a.test'), NOBODY, { remoteAddress: '127.0.0.1', remotePort: 1 }, refusal)
    l.block(to('a.test', 80), NOBODY, undefined, refusal)
    l.block(to('a.test'), NOBODY, undefined, { ...refusal, reason: 'not_allowed' })
    l.block(to('a.test'), { leaseId: 'lea_1' as never }, undefined, refusal)
    expect(l.blocks.snapshot().map(({ port, reason, count }) => [port, reason, count])).toEqual([
      [443, 'denied', 200],
      [80, 'denied', 1],
      [443, 'not_allowed', 1],
      [443, 'denied', 1],
    ])
    expect(l.blocks.total).toBe(203)
    nowMs += 10_001
    l.block(to('a.test'), NOBODY, undefined, refusal)
    expect(l.blocks.snapshot().at(-1)).toMatchObject({ count: 1, openedAtMs: 11_001 })
    l.block(to('a.test'), NOBODY, undefined, refusal)
    expect(l.blocks.snapshot().at(-1)).toMatchObject({ count: 2, openedAtMs: 11_001 })
    l.blocks.drain()
    l.block(to('a.test'), NOBODY, undefined, refusal)
    expect(l.blocks.snapshot()).toMatchObject([{ count: 1 }])
  })

  it('the latest two hundred are kept; draining empties the ring and keeps the total', () => {
    const l = log()
    for (let n = 0; n < 500; n++) l.block(to(`h${n}.test`), NOBODY, undefined, refusal)
    expect(l.blocks.snapshot()).toHaveLength(200)
    expect(l.blocks.drain().at(-1)).toMatchObject({ host: 'h499.test' })
    expect(l.blocks.snapshot()).toEqual([])
    expect(l.blocks.total).toBe(500)
  })

  it('P19 a block tells host, port, client, rule, source and code', () => {
    const record = log().block(
      to('a.test'),
      { leaseId: 'lea_1' as never },
      { remoteAddress: '127.0.0.1', remotePort: 5 },
      refusal,
    )
    expect(record.facts()).toEqual({
      id: record.id,
      leaseId: 'lea_1',
      host: 'a.test',
      port: 443,
      protocol: 'https',
      method: 'CONNECT',
      state: 'blocked',
      verdict: 'deny',
      reason: 'denied',
      ruleId: 'rul_1',
      clientAddress: '127.0.0.1:5',
      bytesIn: 0,
      bytesOut: 0,
      openedAtMs: 1000,
      closedAtMs: 1000,
      count: 1,
      inspected: false,
      detail: { source: 'baseline_policy', code: 'blocked-by-denylist' },
    })
  })
})

describe('reporting', () => {
  it('tells the latest state of each, in batches', async () => {
    const batches: ConnectionFacts[][] = []
    const l = log((facts) => void batches.push(facts))
    const record = l.open(to('a.test'), NOBODY, undefined)
    record.asked()
    record.allowed({ ruleId: 'rul_2', requestId: 'req_1' })
    record.bytesIn = 5
    await eventually(() => batches.length > 0)
    expect(batches[0]).toMatchObject([{ state: 'allowed', verdict: 'allow', requestId: 'req_1', bytesIn: 5 }])
    record.closed(2000)
    record.closed(3000)
    await eventually(() => batches.length > 1)
    expect(batches[1]).toMatchObject([{ state: 'closed', closedAtMs: 2000 }])
    await l.close()
  })

  it('byte counts of a live connection are told while it lives', async () => {
    const seen: number[] = []
    const l = log((facts) => void seen.push(facts[0]!.bytesIn))
    const record = l.open(to('a.test'), NOBODY, undefined)
    record.allowed({})
    await eventually(() => seen.length > 0)
    record.bytesIn = 100
    await eventually(() => seen.includes(100))
    await l.close()
  })

  it('a reader that is slow gets one batch at a time and the latest state, and nobody waits for it', async () => {
    let release = () => {}
    const batches: ConnectionFacts[][] = []
    const l = log((facts) => {
      batches.push(facts)
      return new Promise((resolve) => (release = resolve))
    })
    l.block(to('a.test'), NOBODY, undefined, refusal)
    await eventually(() => batches.length === 1)
    for (let n = 0; n < 1000; n++) l.block(to('b.test'), NOBODY, undefined, refusal)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(batches).toHaveLength(1)
    release()
    await eventually(() => batches.length === 2)
    expect(batches[1]).toMatchObject([{ host: 'b.test', count: 1000 }])
    release()
    await l.close()
  })

  it('others have their turn between two batches', async () => {
    let batches = 0
    let turnsSince = 1
    const turnsBefore: number[] = []
    const l = log(() => {
      batches++
      turnsBefore.push(turnsSince)
      turnsSince = 0
    })
    const turn = () => {
      turnsSince++
      if (batches < 10) setImmediate(turn)
    }
    turn()
    for (let n = 0; n < 1000; n++) l.block(to(`h${n}.test`), NOBODY, undefined, refusal)
    await eventually(() => batches === 10)
    expect(turnsBefore).not.toContain(0)
    await l.close()
  })

  it('without a reader a connection that comes and goes is not even looked at', async () => {
    const l = new ConnectionLog({})
    const remoteAddress = vi.fn(() => '127.0.0.1')
    const client = Object.defineProperty({}, 'remoteAddress', { get: remoteAddress })
    const record = l.open(to('a.test'), NOBODY, client)
    record.allowed({})
    record.closed(2000)
    await l.close()
    expect(remoteAddress).not.toHaveBeenCalled()
  })

  it('what a slow reader never fetched is bounded, and counted', () => {
    const l = log(() => new Promise(() => {}), undefined, 100)
    for (let n = 0; n < 1000; n++) l.block(to(`h${n}.test`), NOBODY, undefined, refusal)
    expect(l.forgotten).toBe(900)
  })

  it('a reader that fails is left alone', async () => {
    let calls = 0
    const l = log(() => {
      calls++
      return Promise.reject(new Error('gone'))
    })
    l.block(to('a.test'), NOBODY, undefined, refusal)
    await eventually(() => calls === 1)
    l.block(to('b.test'), NOBODY, undefined, refusal)
    await eventually(() => calls === 2)
    await l.close()
  })
})

it('an audit event has the fields of the reference and nothing of the request itself', () => {
  const record = log().block(
    to('a.test'),
    { leaseId: 'lea_1' as never },
    { remoteAddress: '127.0.0.1', remotePort: 5 },
    refusal,
  )
  expect(auditEvent(record.facts(), 'deny')).toEqual({
    'event.name': 'gatehouse.network.policy_decision',
    'event.timestamp': '1970-01-01T00:00:01.000Z',
    'network.policy.scope': 'domain',
    'network.policy.decision': 'deny',
    'network.policy.source': 'baseline_policy',
    'network.policy.reason': 'denied',
    'network.transport.protocol': 'https_connect',
    'server.address': 'a.test',
    'server.port': 443,
    'http.request.method': 'CONNECT',
    'client.address': '127.0.0.1:5',
    'execution.id': 'lea_1',
    'network.policy.override': false,
  })
})

it('closing does not wait for a reader that never comes back', async () => {
  const l = log(() => new Promise(() => {}))
  l.block(to('a.test'), NOBODY, undefined, refusal)
  await l.close()
  expect(l.blocks.total).toBe(1)
})
