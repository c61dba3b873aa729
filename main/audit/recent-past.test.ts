import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ConnectionId, RequestId, RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Actor, Verdict } from '../../sidecars/protocol/decision.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import { Audit } from './audit.ts'
import { readRecentPast } from './recent-past.ts'

const DAY = 86_400_000
const sessionId = 'ses_1' as SessionId
const subject: Subject = { kind: 'connection', host: 'a.test', port: 443, protocol: 'https' }

it('reads what earlier runs asked, decided and left open', async () => {
  let now = 100 * DAY
  const audit = new Audit({ folder: await mkdtemp(join(tmpdir(), 'gatehouse-past-')), now: () => now })
  const start = (instanceId: string) => audit.record({ kind: 'host.started', version: '0', instanceId, pid: 1 })
  const asked = (id: string, ruleId?: RuleId) =>
    audit.record({
      kind: 'request.asked',
      requestId: id as RequestId,
      sessionId,
      gate: 'ask',
      subject,
      subjectHash: id,
      ...(ruleId && { ruleId }),
    })
  const decided = (id: string, verdict: Verdict, actor: Actor, ruleId?: RuleId) =>
    audit.record({
      kind: 'request.decided',
      requestId: id as RequestId,
      sessionId,
      decision: { verdict, scope: 'once', actor, subjectHash: id, decidedAtMs: now, ...(ruleId && { ruleId }) },
    })
  const connected = (verdict: Verdict, count: number, ruleId?: RuleId) =>
    audit.record({
      kind: 'connection.decided',
      connectionId: 'con' as ConnectionId,
      host: 'a.test',
      port: 443,
      protocol: 'https',
      verdict,
      count,
      ...(ruleId && { ruleId }),
    })
  const rule = 'rul_1' as RuleId

  start('first')
  asked('req_old')
  now += 35 * DAY
  start('second')
  asked('req_1')
  decided('req_1', 'allow', { kind: 'person', via: 'window' })
  connected('allow', 1, rule)
  now += DAY
  asked('req_2')
  decided('req_2', 'deny', { kind: 'rule' }, rule)
  asked('req_3')
  decided('req_3', 'deny', { kind: 'person', via: 'window' })
  connected('deny', 4)
  connected('allow', 1, rule)
  asked('req_open', 'rul_ask' as RuleId)
  start('third')
  asked('req_now')
  decided('req_now', 'allow', { kind: 'person', via: 'window' })

  const past = await readRecentPast(audit, { instanceId: 'third', sinceMs: now - 30 * DAY, todayMs: now - 1000 })
  await audit.close(1000)
  expect(past.requests.map(({ subjectHash, verdict }) => [subjectHash, verdict])).toEqual([
    ['req_1', 'allow'],
    ['req_2', 'deny'],
    ['req_3', 'deny'],
    ['req_open', undefined],
  ])
  expect(past.lost).toEqual([{ requestId: 'req_open', sessionId }])
  expect([...past.fired]).toEqual([
    ['rul_ask', { count: 1, lastAtMs: now }],
    [rule, { count: 3, lastAtMs: now }],
  ])
  expect(past.today).toEqual({ allowed: 1, blocked: 4, decided: 1 })
  expect(past.connections).toBe(6)
})
