import type { GateMode } from '../../sidecars/protocol/host-channel.ts'
import type { SessionId } from '../../sidecars/protocol/ids.ts'
import { Approvals } from '../approvals/approvals.ts'
import { Connections } from '../egress/connections.ts'
import { DayCounters } from '../egress/day-counters.ts'
import { Leases } from '../egress/leases.ts'
import type { Feed } from '../feed/feed.ts'
import { isAlive, Processes } from '../processes/processes.ts'
import { activityLine } from '../sessions/activity-line.ts'
import { Sessions, type NamedSession } from '../sessions/sessions.ts'
import type { Settings } from '../settings/settings.ts'
import type { NetworkProxyClient } from '../sidecar-clients/network-proxy-client.ts'
import type { Foundation } from './foundation.ts'

/** Sessions, processes, connections and requests of this run, each joined with the others. */
export interface Tables {
  sessions: Sessions
  processes: Processes
  connections: Connections
  approvals: Approvals
  counters: DayCounters
  leases: Leases
}

/** Makes the tables and shows them in the feed. What ends in one ends what hangs on it in the others. */
export function createTables(foundation: Foundation, proxy: NetworkProxyClient): Tables {
  const { feed, audit, rules, rulesFolder, settings, projects } = foundation
  const counters = new DayCounters((next) => feed.setCounters(next))
  const leases = new Leases(proxy)

  const sessions = new Sessions({
    audit,
    countsOf: (id) => ({
      runningCount: processes.aliveOf(id).length,
      processCount: processes.countOf(id),
      pendingCount: approvals.pendingCount(id),
      blockedCount: connections.countsOf(id).blockedCount,
    }),
    publish: (id, view) => publish(feed, 'sessions', id, view),
    onOpened: ({ id, cwd }) => {
      rules.openSession(id)
      if (cwd !== undefined) projects.noteFolder(cwd)
    },
    onClosed: (id, reason) => {
      approvals.withdrawSession(id, reason)
      rules.endSession(id)
    },
    onRenamed: (id) => {
      approvals.refreshSession(id)
      for (const process of processes.aliveOf(id)) processes.refresh(process.id)
    },
  })

  const processes: Processes = new Processes({
    audit,
    contextOf: ({ id, sessionId }) => ({ sessionTitle: titleOf(sessionId), ...connections.countsOf(id) }),
    publish: (id, view) => publish(feed, 'processes', id, view),
    onLife: (facts) => {
      sessions.noteActivity(facts.sessionId, facts.state === 'starting' ? activityLine(facts.argv) : undefined)
      if (isAlive(facts)) return
      void leases.revokeProcess(facts.id)
      approvals.withdrawProcess(facts.id, 'its process ended')
    },
  })

  const connections: Connections = new Connections({
    audit,
    holderOf: ({ leaseId }) => (leaseId === undefined ? undefined : leases.holderOf(leaseId)),
    contextOf: ({ ruleId }, holder) => ({
      sessionTitle: holder ? titleOf(holder.sessionId) : null,
      pid: holder?.processId === undefined ? null : (processes.get(holder.processId)?.pid ?? null),
      ruleText: ruleId === undefined ? null : (rules.find(ruleId)?.text ?? null),
    }),
    publish: (id, view) => publish(feed, 'connections', id, view),
    onDecided: ({ verdict, state, ruleId, requestId }, holder, count) => {
      const isBlocked = verdict === 'deny' || state === 'blocked'
      counters.add({ [isBlocked ? 'blocked' : 'allowed']: count, connections: count })
      // A rule that the host was asked about is counted where it answered.
      if (ruleId !== undefined && requestId === undefined) rules.noteFired(ruleId, Date.now(), count)
      if (holder?.processId !== undefined) processes.refresh(holder.processId)
      if (holder) sessions.refresh(holder.sessionId)
    },
  })

  const approvals: Approvals = new Approvals({
    rules,
    audit,
    rulesFolder,
    sessionOf: (id) => sessions.named(id),
    gateOf: (id, asked) => gateOf(settings.current, sessions.named(id), asked),
    publish: (id, view) => publish(feed, 'approvals', id, view),
    onPendingChanged: (id) => sessions.refresh(id),
    onDecided: () => counters.add({ decided: 1 }),
  })

  foundation.folderOf = (id) => sessions.folderOf(id)
  const titleOf = (id: SessionId): string => sessions.named(id)?.title ?? id
  return { sessions, processes, connections, approvals, counters, leases }
}

/** How an agent is treated: as its owner said of it by name, otherwise as its asker's way in has it. */
function gateOf({ agentPostures }: Settings, session: NamedSession | undefined, asked: GateMode): GateMode {
  // What the owner typed is nobody else's.
  if (!session || session.via === 'command-line' || !Object.hasOwn(agentPostures, session.agentName)) return asked
  return agentPostures[session.agentName]!
}

type TableName = Parameters<Feed['set']>[0]

function publish<T extends TableName>(feed: Feed, table: T, id: string, view: Parameters<Feed['set']>[2] | null): void {
  if (view === null) feed.delete(table, id)
  else feed.set(table, id, view as never)
}
