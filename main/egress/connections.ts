import type { ConnectionView } from '../../preload/api.ts'
import type { ConnectionFacts } from '../../sidecars/protocol/host-channel.ts'
import type { ConnectionId, ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Audit } from '../audit/audit.ts'
import { connectionView, type ConnectionContext } from './connection-view.ts'
import type { LeaseHolder } from './leases.ts'

/** Connections kept in memory and shown: days of work, or one wild build. */
const KEPT = 100_000
/** The newest of them with the requests inside, of which each takes as much memory as many connections. */
const DETAILED = 2_000
/** Sessions and processes of which counts are kept. */
const COUNTED = 10_000

export interface ConnectionsOptions {
  audit: Pick<Audit, 'record'>
  holderOf(facts: ConnectionFacts): LeaseHolder | undefined
  contextOf(
    facts: ConnectionFacts,
    holder: LeaseHolder | undefined,
  ): Omit<ConnectionContext, 'processId' | 'sessionId' | 'command'>
  publish(id: ConnectionId, view: ConnectionView | null): void
  /** Connections were decided: `count` of them, counting folded blocks. */
  onDecided(facts: ConnectionFacts, holder: LeaseHolder | undefined, count: number): void
  now?: () => number
  /** How many are kept, and how many of them with the requests inside. */
  limits?: { kept: number; detailed: number }
}

export interface KeptConnection {
  facts: ConnectionFacts
  holder: LeaseHolder | undefined
}
interface ConnectionRecord extends KeptConnection {
  generation: number
  /** How many of the folded ones are counted and on record. */
  decidedCount: number
  isEndRecorded: boolean
}
export interface ConnectionCounts {
  connectionCount: number
  blockedCount: number
}

/** Connections of this run, joined with the processes and sessions that made them. */
export class Connections {
  private readonly records = new Map<ConnectionId, ConnectionRecord>()
  private readonly detailed = new Set<ConnectionId>()
  private readonly counts = new Map<string, ConnectionCounts>()
  private readonly now: () => number
  private readonly limits: { kept: number; detailed: number }

  constructor(private readonly options: ConnectionsOptions) {
    this.now = options.now ?? Date.now
    this.limits = options.limits ?? { kept: KEPT, detailed: DETAILED }
  }

  /** News from the proxy's life `generation`. */
  change(facts: ConnectionFacts, generation: number): void {
    const known = this.records.get(facts.id)
    if (known && known.generation > generation) return
    const record: ConnectionRecord = known ?? {
      facts,
      holder: this.options.holderOf(facts),
      generation,
      decidedCount: 0,
      isEndRecorded: false,
    }
    record.facts = facts
    if (!known) this.keep(record)
    this.noteDecision(record)
    this.noteEnd(record)
    this.publish(record)
  }

  /** Connections that were open when a life of the proxy ended. */
  loseGeneration(generation: number, reason: string): void {
    for (const record of this.records.values()) {
      const { facts } = record
      if (record.generation > generation || facts.closedAtMs !== undefined) continue
      record.facts = { ...facts, state: facts.state === 'asked' ? 'blocked' : 'failed', reason, closedAtMs: this.now() }
      this.noteDecision(record)
      this.noteEnd(record)
      this.publish(record)
    }
  }

  get(id: ConnectionId): KeptConnection | undefined {
    return this.records.get(id)
  }
  all(): Iterable<KeptConnection> {
    return this.records.values()
  }
  countsOf(id: SessionId | ProcessId): ConnectionCounts {
    return this.counts.get(id) ?? { connectionCount: 0, blockedCount: 0 }
  }

  private keep(record: ConnectionRecord): void {
    const { id } = record.facts
    this.records.set(id, record)
    const [oldest] = this.records.keys()
    if (this.records.size > this.limits.kept && oldest !== undefined) {
      this.records.delete(oldest)
      this.options.publish(oldest, null)
    }
    this.detailed.add(id)
    const [oldestDetailed] = this.detailed
    if (this.detailed.size <= this.limits.detailed || oldestDetailed === undefined) return
    this.detailed.delete(oldestDetailed)
    this.forgetDetail(oldestDetailed)
  }

  private forgetDetail(id: ConnectionId): void {
    const record = this.records.get(id)
    if (record?.facts.detail === undefined) return
    const { detail: _, ...facts } = record.facts
    record.facts = facts
    this.publish(record)
  }

  private publish({ facts, holder }: ConnectionRecord): void {
    // News of a connection that is no longer kept would bring its row back.
    if (!this.records.has(facts.id)) return
    const { processId = null, sessionId = null, command = null } = holder ?? {}
    const context = { ...this.options.contextOf(facts, holder), processId, sessionId, command }
    this.options.publish(facts.id, connectionView(facts, context))
  }

  private noteDecision(record: ConnectionRecord): void {
    const { facts, holder } = record
    if (facts.state === 'asked') return
    const added = facts.count - record.decidedCount
    if (added <= 0) return
    record.decidedCount = facts.count
    const isBlocked = (facts.verdict ?? (facts.state === 'blocked' ? 'deny' : 'allow')) === 'deny'
    for (const id of [holder?.sessionId, holder?.processId]) if (id !== undefined) this.count(id, added, isBlocked)
    this.recordDecision(record, isBlocked, added)
    this.options.onDecided(facts, holder, added)
  }

  private recordDecision({ facts, holder }: ConnectionRecord, isBlocked: boolean, count: number): void {
    const { id, host, port, protocol, method, reason, ruleId, requestId } = facts
    this.options.audit.record({
      kind: 'connection.decided',
      connectionId: id,
      ...(holder && { sessionId: holder.sessionId }),
      ...(holder?.processId !== undefined && { processId: holder.processId }),
      host,
      port,
      protocol,
      ...(method !== undefined && { method }),
      verdict: isBlocked ? 'deny' : 'allow',
      ...(reason !== undefined && { reason }),
      ...(ruleId !== undefined && { ruleId }),
      ...(requestId !== undefined && { requestId }),
      count,
    })
  }

  /** Blocked ones have no life to tell about. */
  private noteEnd(record: ConnectionRecord): void {
    const { facts, holder } = record
    if (record.isEndRecorded || (facts.state !== 'closed' && facts.state !== 'failed')) return
    record.isEndRecorded = true
    const { id, host, port, state, bytesIn, bytesOut } = facts
    const session = holder && { sessionId: holder.sessionId }
    this.options.audit.record({
      kind: 'connection.ended',
      connectionId: id,
      ...session,
      host,
      port,
      state,
      bytesIn,
      bytesOut,
    })
  }

  private count(id: string, added: number, isBlocked: boolean): void {
    const { connectionCount, blockedCount } = this.counts.get(id) ?? { connectionCount: 0, blockedCount: 0 }
    this.counts.set(id, {
      connectionCount: connectionCount + added,
      blockedCount: blockedCount + (isBlocked ? added : 0),
    })
    const [oldest] = this.counts.keys()
    if (this.counts.size > COUNTED && oldest !== undefined) this.counts.delete(oldest)
  }
}
