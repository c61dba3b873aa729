import type { ProcessView } from '../../preload/api.ts'
import type { ProcessFacts } from '../../sidecars/protocol/host-channel.ts'
import type { ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Audit } from '../audit/audit.ts'
import { isAlive, processView, type ProcessContext, type ProcessUsage } from './process-view.ts'

export { isAlive } from './process-view.ts'

/** Ended processes that stay in the window's table. */
const ENDED_KEPT = 500

export interface ProcessesOptions {
  audit: Pick<Audit, 'record'>
  contextOf(facts: ProcessFacts): Omit<ProcessContext, 'usage'>
  publish(id: ProcessId, view: ProcessView | null): void
  /** A process appeared, started or ended. */
  onLife(facts: ProcessFacts): void
  now?: () => number
}

interface ProcessRecord {
  facts: ProcessFacts
  generation: number
  usage: ProcessUsage | undefined
  isStartRecorded: boolean
  isExitRecorded: boolean
  /** It and everything that held its output are gone, or lost. */
  isOver: boolean
}

/** All processes of this run, over every life of the exec server. */
export class Processes {
  private readonly records = new Map<ProcessId, ProcessRecord>()
  private readonly ended: ProcessId[] = []
  private readonly overWaiters = new Set<() => void>()
  private readonly now: () => number

  constructor(private readonly options: ProcessesOptions) {
    this.now = options.now ?? Date.now
  }

  /** News of a process from the exec server's life `generation`. */
  change(facts: ProcessFacts, generation: number): void {
    const known = this.records.get(facts.id)
    // A process of a life that is over cannot come back, however late its news arrive.
    if (known?.isOver || (known && known.generation > generation)) return
    const record: ProcessRecord = known ?? {
      facts,
      generation,
      usage: undefined,
      isStartRecorded: false,
      isExitRecorded: false,
      isOver: false,
    }
    const isNews = known?.facts.state !== facts.state
    record.facts = facts
    this.records.set(facts.id, record)
    this.recordLife(record)
    this.refresh(facts.id)
    if (isNews) this.options.onLife(facts)
  }

  /** The exec server no longer has its output. The row stays; nothing of it can be read. */
  forget(id: ProcessId): void {
    const record = this.records.get(id)
    if (!record) return
    record.facts = { ...record.facts, firstSeq: record.facts.nextSeq, acceptsInput: false }
    this.refresh(id)
  }

  /** What the exec server of a new life still knows; everything else of earlier lives is lost. */
  loseGeneration(generation: number, reason: string): void {
    for (const record of this.records.values()) {
      if (record.generation > generation || record.isOver) continue
      const { facts } = record
      const lost: ProcessFacts = {
        ...facts,
        state: 'failed',
        acceptsInput: false,
        firstSeq: facts.nextSeq,
        exitedAtMs: facts.exitedAtMs ?? this.now(),
        detail: `lost: ${reason}`,
      }
      record.facts = lost
      this.recordLife(record)
      this.refresh(lost.id)
      this.options.onLife(lost)
    }
  }

  setUsage(id: ProcessId, usage: ProcessUsage | undefined): void {
    const record = this.records.get(id)
    if (!record || (!usage && !record.usage)) return
    record.usage = usage
    this.refresh(id)
  }

  /** Names or counts elsewhere changed: shows the process anew. */
  refresh(id: ProcessId): void {
    const record = this.records.get(id)
    if (!record) return
    const context = { ...this.options.contextOf(record.facts), usage: record.usage }
    this.options.publish(id, processView(record.facts, context))
  }

  get(id: ProcessId): ProcessFacts | undefined {
    return this.records.get(id)?.facts
  }

  /** Facts once nothing of it is left, or what is known of it after `timeoutMs`. */
  whenOver(id: ProcessId, timeoutMs: number): Promise<ProcessFacts | undefined> {
    const record = this.records.get(id)
    if (!record || record.isOver) return Promise.resolve(record?.facts)
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer)
        this.overWaiters.delete(look)
        resolve(record.facts)
      }
      const look = () => {
        if (record.isOver) settle()
      }
      const timer = setTimeout(settle, timeoutMs)
      this.overWaiters.add(look)
    })
  }

  /** Processes of a session that have not ended, oldest first. */
  aliveOf(sessionId: SessionId): ProcessFacts[] {
    return this.alive().filter((facts) => facts.sessionId === sessionId)
  }
  alive(): ProcessFacts[] {
    return [...this.records.values()].map(({ facts }) => facts).filter(isAlive)
  }
  countOf(sessionId: SessionId): number {
    return [...this.records.values()].filter(({ facts }) => facts.sessionId === sessionId).length
  }

  private recordLife(record: ProcessRecord): void {
    const { facts } = record
    const { audit } = this.options
    if (!record.isStartRecorded && facts.pid !== null) {
      record.isStartRecorded = true
      const { id, sessionId, requestId, argv, cwd, pid } = facts
      audit.record({
        kind: 'process.started',
        processId: id,
        sessionId,
        argv,
        cwd,
        pid,
        ...(requestId !== undefined && { requestId }),
      })
    }
    if (!record.isExitRecorded && facts.state !== 'starting' && facts.state !== 'running') {
      record.isExitRecorded = true
      this.recordExit(facts)
    }
    if (!isAlive(facts)) this.keepEnded(record)
  }

  private recordExit({ id, sessionId, exitCode, exitSignal, detail, outputBytes }: ProcessFacts): void {
    this.options.audit.record({
      kind: 'process.ended',
      processId: id,
      sessionId,
      outputBytes,
      ...(exitCode !== undefined && { exitCode }),
      ...(exitSignal !== undefined && { exitSignal }),
      ...(detail !== undefined && { detail }),
    })
  }

  private keepEnded(record: ProcessRecord): void {
    if (record.isOver) return
    record.isOver = true
    record.usage = undefined
    for (const look of this.overWaiters) look()
    this.ended.push(record.facts.id)
    if (this.ended.length <= ENDED_KEPT) return
    const oldest = this.ended.shift()!
    this.records.delete(oldest)
    this.options.publish(oldest, null)
  }
}
