import type { ProcessId } from '../../protocol/ids.ts'
import type { Session } from '../sessions/session.ts'
import { ManagedProcess, type ProcessObserver, type ProcessSeed } from './managed-process.ts'
import { OutputSpool } from './output-spool.ts'

/** How long an ended process stays readable and its id taken, counted from `closed`. */
export const CLOSED_RETENTION_MS = 80_000

export interface ProcessTableEvents {
  /** Something about it is different; called often while it prints. */
  onChanged(process: ManagedProcess): void
  onForgotten(process: ManagedProcess): void
}
export interface SpoolSettings {
  /** Existing private folder. */
  folder: string
  /** Bytes per process, 0 for none. */
  limitBytes: number
}

/** Every process of the server, whichever session it belongs to. */
export class ProcessTable implements ProcessObserver {
  private readonly processes = new Map<ProcessId, ManagedProcess>()

  constructor(
    private readonly spool: SpoolSettings,
    private readonly events: ProcessTableEvents,
    private readonly retentionMs = CLOSED_RETENTION_MS,
  ) {}

  add(seed: ProcessSeed, session: Session): ManagedProcess {
    const { folder, limitBytes } = this.spool
    const process = new ManagedProcess(seed, (id) =>
      limitBytes > 0 ? new OutputSpool(`${folder}/${id}`, limitBytes) : undefined,
    )
    this.processes.set(process.id, process)
    session.add(process)
    process.observe(this)
    process.observe({
      onOutput() {},
      onExited() {},
      onClosed: () => {
        const timer = setTimeout(() => this.forget(process, session), this.retentionMs)
        timer.unref()
      },
    })
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
    this.events.onChanged(process)
  }
  /** A start that came to nothing frees the client's id at once. */
  failed(process: ManagedProcess, session: Session, detail: string): void {
    process.fail(detail)
    this.events.onChanged(process)
    this.forget(process, session)
  }

  onOutput(process: ManagedProcess): void {
    this.events.onChanged(process)
  }
  onExited(process: ManagedProcess): void {
    this.events.onChanged(process)
  }
  onClosed(process: ManagedProcess): void {
    this.events.onChanged(process)
  }

  private forget(process: ManagedProcess, session: Session): void {
    session.remove(process)
    if (!this.processes.delete(process.id)) return
    process.dispose()
    this.events.onForgotten(process)
  }
}
