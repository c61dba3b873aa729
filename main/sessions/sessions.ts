import type { SessionView } from '../../preload/api.ts'
import type { SessionFacts, SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { SessionId } from '../../sidecars/protocol/ids.ts'
import type { Audit } from '../audit/audit.ts'
import { sessionTitle, sessionView, type SessionCounts, type SessionRecord } from './session-view.ts'

/** Ended sessions that stay in the window's list. */
const ENDED_KEPT = 500
/** A title made of the first request is cut here. */
const TITLE_CHARACTERS = 80

export interface SessionsOptions {
  audit: Pick<Audit, 'record'>
  countsOf(id: SessionId): SessionCounts
  publish(id: SessionId, view: SessionView | null): void
  onClosed(id: SessionId, reason: string): void
  onOpened?(facts: SessionFacts): void
  /** Its name, where others show it, is another now. */
  onRenamed(id: SessionId): void
  now?: () => number
}

/** What the rest of the host needs to name a session. */
export interface NamedSession {
  agentName: string
  title: string
  via: string
}

/** All sessions of this run: announced by sidecars, or opened by the host for a command of the owner. */
export class Sessions {
  private readonly records = new Map<SessionId, SessionRecord>()
  private readonly ended: SessionId[] = []
  private readonly now: () => number

  constructor(private readonly options: SessionsOptions) {
    this.now = options.now ?? Date.now
  }

  /** A sidecar announces a session, or the host opens one of its own (`source` null). */
  open(facts: SessionFacts, source: SessionRecord['source']): void {
    const known = this.records.get(facts.id)
    if (known && !known.closed) return this.update(facts)
    this.records.set(facts.id, {
      facts,
      source,
      closed: null,
      lastActivityAtMs: facts.openedAtMs,
      lastLine: '',
      derivedTitle: null,
    })
    const { id, agentName, agentVersion, via, cwd, pid } = facts
    this.options.audit.record({
      kind: 'session.opened',
      sessionId: id,
      agentName,
      via,
      ...(agentVersion !== undefined && { agentVersion }),
      ...(cwd !== undefined && { cwd }),
      ...(pid !== undefined && { pid }),
    })
    this.options.onOpened?.(facts)
    this.refresh(id)
    // Requests and processes of it may have arrived on another channel before.
    this.options.onRenamed(id)
  }

  update(facts: SessionFacts): void {
    this.change(facts.id, (record) => (record.facts = facts))
  }

  /** Ends a session; what it asked and what it was allowed for itself ends with it. */
  close(id: SessionId, reason?: string, isLost = false): void {
    const record = this.records.get(id)
    if (!record || record.closed) return
    record.closed = { atMs: this.now(), reason, isLost }
    this.options.audit.record({ kind: 'session.closed', sessionId: id, ...(reason !== undefined && { reason }) })
    this.options.onClosed(id, reason ?? 'its session ended')
    this.refresh(id)
    this.ended.push(id)
    if (this.ended.length > ENDED_KEPT) {
      const oldest = this.ended.shift()!
      this.records.delete(oldest)
      this.options.publish(oldest, null)
    }
  }

  /** Ends every session that a dead life of a sidecar had announced. */
  loseGeneration(sidecar: SidecarName, generation: number, reason: string): void {
    for (const [id, { source, closed }] of this.records)
      if (!closed && source?.sidecar === sidecar && source.generation <= generation) this.close(id, reason, true)
  }

  /** Something happened in a session; `line` says what, for the list. */
  noteActivity(id: SessionId, line?: string): void {
    this.change(id, (record) => {
      if (line === undefined) return
      record.lastLine = line
      record.derivedTitle ??= line.slice(0, TITLE_CHARACTERS)
    })
  }

  /** Counts or names elsewhere changed: shows the session anew. */
  refresh(id: SessionId): void {
    const record = this.records.get(id)
    if (record) this.options.publish(id, sessionView(record, this.options.countsOf(id)))
  }

  named(id: SessionId): NamedSession | undefined {
    const record = this.records.get(id)
    return record && { agentName: record.facts.agentName, title: sessionTitle(record), via: record.facts.via }
  }

  /** The folder it works in, where it told. */
  folderOf(id: SessionId): string | undefined {
    return this.records.get(id)?.facts.cwd
  }

  isOpen(id: SessionId): boolean {
    const record = this.records.get(id)
    return record !== undefined && record.closed === null
  }

  openCount(): number {
    return [...this.records.values()].filter(({ closed }) => !closed).length
  }

  /** Names of agents that are attached now, for the Agents page. */
  openAgents(): { agentName: string; via: string }[] {
    return [...this.records.values()]
      .filter(({ closed }) => !closed)
      .map(({ facts }) => ({ agentName: facts.agentName, via: facts.via }))
  }

  private change(id: SessionId, change: (record: SessionRecord) => void): void {
    const record = this.records.get(id)
    if (!record) return
    const before = JSON.stringify(this.named(id))
    change(record)
    this.touch(record)
    this.refresh(id)
    if (JSON.stringify(this.named(id)) !== before) this.options.onRenamed(id)
  }

  /** Clocks go back; a list sorted by activity must not. */
  private touch(record: SessionRecord): void {
    record.lastActivityAtMs = Math.max(record.lastActivityAtMs, this.now())
  }
}
