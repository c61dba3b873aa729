import type { Approvals } from '../approvals/approvals.ts'
import { HISTORY_MS } from '../approvals/approvals.ts'
import type { Audit } from '../audit/audit.ts'
import { readRecentPast } from '../audit/recent-past.ts'
import { startOfDay, type DayCounters } from '../egress/day-counters.ts'
import type { Rules } from '../rules/rules.ts'

export interface PastTargets {
  audit: Audit
  approvals: Approvals
  rules: Rules
  counters: DayCounters
  instanceId: string
}

/**
 * Gives this run what earlier ones left in the journal: requests for previews, counts of rules and of
 * today. A request that an ended host never answered is put on record as lost. Runs beside everything
 * else; a journal that cannot be read rejects.
 */
export async function restorePast({ audit, approvals, rules, counters, instanceId }: PastTargets): Promise<void> {
  const nowMs = Date.now()
  const past = await readRecentPast(audit, { instanceId, sinceMs: nowMs - HISTORY_MS, todayMs: startOfDay(nowMs) })
  approvals.history.addOlder(past.requests)
  for (const [id, { count, lastAtMs }] of past.fired) rules.noteFired(id, lastAtMs, count)
  const { allowed, blocked, decided } = past.today
  counters.add({ allowed, blocked, decided, connections: past.connections })
  for (const { requestId, sessionId } of past.lost)
    audit.record({ kind: 'request.withdrawn', requestId, sessionId, reason: 'lost: Gatehouse ended while it waited' })
}
