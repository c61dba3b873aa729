import { randomBytes } from 'node:crypto'
import type { ProcessId } from '../../protocol/ids.ts'
import type { Session } from '../sessions/session.ts'
import { ManagedProcess, type ProcessObserver, type ProcessSeed } from './managed-process.ts'
import { OutputSpool } from './output-spool.ts'

/** How long an ended process stays readable for its client and its id taken, counted from `closed`. */
export const CLOSED_RETENTION_MS = 80_000

/** Output of closed processes in memory, all together. */
const MAX_WARM_BYTES = 32 * 1024 * 1024

export interface ProcessTableEvents {
  /** Something about it is different; called often while it prints. */
  onChanged(process: ManagedProcess): void
  onStarted(process: ManagedProcess): void
  /** It has ended itself; its output may still be open. */
  onExited(process: ManagedProcess): void
  onForgotten(process: ManagedProcess): void
}
export interface RetentionSettings {
  /** Existing private folder for output on disk. */
  folder: string
  /** Bytes of it per process, 0 for none. */
  limitBytes: number
  /** How many processes that their client cannot reach any more are kept for the supervisor. */
  keepEnded: number
  /** Default {@link CLOSED_RETENTION_MS}. */
  closedRetentionMs?: number
}

/** Every process of the server, whichever session it belongs to. */
export class ProcessTable implements ProcessObserver {
  /** Every id of this server starts so, and none of any other server's. */
  readonly idPrefix = `prc_${randomBytes(6).toString('hex')}_`
  private readonly processes = new Map<ProcessId, ManagedProcess>()
  /** Out of their client's reach, oldest first. */
  private readonly ended = new Set<ManagedProcess>()
  /** Closed, with the bytes of their output in memory, oldest first. */
  private readonly warm = new Map<ManagedProcess, number>()
  private warmBytes = 0
  private readonly sessions = new WeakMap<ManagedProcess, Session>()
  private made = 0

  constructor(
    private readonly retention: RetentionSettings,
    private readonly events: ProcessTableEvents,
  ) {}

  add(seed: ProcessSeed, session: Session): ManagedProcess {
    const { folder, limitBytes } = this.retention
    const id = `${this.idPrefix}${(this.made++).toString(36)}` as ProcessId
    const spool = limitBytes > 0 ? new OutputSpool(`${folder}/${id}`, limitBytes) : undefined
    const process = new ManagedProcess(id, seed, spool, (noted) => this.events.onChanged(noted))
    this.processes.set(id, process)
    this.sessions.set(process, session)
    session.add(process)
    process.observe(this)
    this.events.onChanged(process)
    return process
  }

  find(id: ProcessId): ManagedProcess | undefined {
    return this.processes.get(id)
  }
  all(): ManagedProcess[] {
    return [...this.processes.values()]
  }

  started(process: ManagedProcess): void {
    this.events.onStarted(process)
    this.events.onChanged(process)
  }
  /** A start that came to nothing frees the client's id at once. */
  failed(process: ManagedProcess, detail: string): void {
    process.fail(detail)
    this.release(process)
  }

  onOutput(process: ManagedProcess): void {
    this.events.onChanged(process)
  }
  onExited(process: ManagedProcess): void {
    this.events.onExited(process)
    this.events.onChanged(process)
  }
  onClosed(process: ManagedProcess): void {
    this.events.onExited(process)
    this.events.onChanged(process)
    this.keepWarm(process)
    const timer = setTimeout(() => this.release(process), this.retention.closedRetentionMs ?? CLOSED_RETENTION_MS)
    timer.unref()
  }

  /** Many closed processes together may not fill the memory: the oldest go to disk before their time. */
  private keepWarm(process: ManagedProcess): void {
    const { memoryBytes } = process.log
    this.warm.set(process, memoryBytes)
    this.warmBytes += memoryBytes
    for (const oldest of this.warm.keys()) {
      if (this.warmBytes <= MAX_WARM_BYTES) break
      this.cool(oldest)
    }
  }
  private cool(process: ManagedProcess): void {
    this.warmBytes -= this.warm.get(process) ?? 0
    this.warm.delete(process)
    void process.log.rest()
  }

  /** The client's id is free again; the supervisor may still look at it. */
  private release(process: ManagedProcess): void {
    this.sessions.get(process)?.remove(process)
    this.cool(process)
    this.ended.add(process)
    for (const oldest of this.ended) {
      if (this.ended.size <= this.retention.keepEnded) break
      this.forget(oldest)
    }
  }

  private forget(process: ManagedProcess): void {
    this.ended.delete(process)
    this.processes.delete(process.id)
    process.dispose()
    this.events.onForgotten(process)
  }
}
