import type { Verdict } from '../../sidecars/protocol/decision.ts'
import type { RequestId, RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import type { Audit, AuditRecord } from './audit.ts'

/** Reading stops here however much there is: it happens while the owner already works. */
const MOST_RECORDS = 100_000

export interface PastDecision {
  subject: Subject
  subjectHash: string
  sessionId: SessionId
  verdict?: Verdict
  atMs: number
}
export interface RecentPast {
  /** Requests of earlier runs, oldest first. */
  requests: PastDecision[]
  /** Requests that still waited when an earlier run ended, and were never told so. */
  lost: { requestId: RequestId; sessionId: SessionId }[]
  /** How often each rule decided or made a question, and when last. */
  fired: Map<RuleId, { count: number; lastAtMs: number }>
  /** Since `todayMs`. */
  today: { allowed: number; blocked: number; decided: number }
  connections: number
}

/**
 * What earlier runs left in the journal, newest first until `sinceMs`. Records of the run with
 * `instanceId` are passed over: it knows its own.
 */
export async function readRecentPast(
  audit: Pick<Audit, 'backwards'>,
  { instanceId, sinceMs, todayMs }: { instanceId: string; sinceMs: number; todayMs: number },
): Promise<RecentPast> {
  const past: RecentPast = {
    requests: [],
    lost: [],
    fired: new Map(),
    today: { allowed: 0, blocked: 0, decided: 0 },
    connections: 0,
  }
  const endings = new Map<RequestId, Verdict | undefined>()
  let isOwnRun = true
  let seen = 0
  for await (const record of audit.backwards()) {
    if (record.atMs < sinceMs || ++seen > MOST_RECORDS) break
    if (!isOwnRun) note(record, past, endings, todayMs)
    else if (record.kind === 'host.started' && record.instanceId === instanceId) isOwnRun = false
  }
  past.requests.reverse()
  return past
}

function note(
  record: AuditRecord,
  past: RecentPast,
  endings: Map<RequestId, Verdict | undefined>,
  todayMs: number,
): void {
  const isToday = record.atMs >= todayMs
  const fire = (id: RuleId | undefined, count: number) => {
    if (id === undefined) return
    const before = past.fired.get(id)
    past.fired.set(id, { count: (before?.count ?? 0) + count, lastAtMs: Math.max(before?.lastAtMs ?? 0, record.atMs) })
  }
  switch (record.kind) {
    case 'request.decided':
    case 'request.expired': {
      const { verdict, actor, ruleId } = record.decision
      endings.set(record.requestId, verdict)
      if (actor.kind === 'rule') fire(ruleId, 1)
      if (isToday && actor.kind === 'person') past.today.decided++
      return
    }
    case 'request.withdrawn':
      endings.set(record.requestId, undefined)
      return
    case 'request.asked': {
      const { requestId, sessionId, subject, subjectHash, atMs } = record
      fire(record.ruleId, 1)
      if (!endings.has(requestId)) past.lost.push({ requestId, sessionId })
      const verdict = endings.get(requestId)
      past.requests.push({ subject, subjectHash, sessionId, atMs, ...(verdict && { verdict }) })
      return
    }
    case 'connection.decided':
      fire(record.ruleId, record.count)
      past.connections += record.count
      if (isToday) past.today[record.verdict === 'allow' ? 'allowed' : 'blocked'] += record.count
      return
    default:
  }
}
