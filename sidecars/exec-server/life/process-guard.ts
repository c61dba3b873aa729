import type { ManagedProcess } from '../processes/managed-process.ts'
import type { ProcessLedger } from './process-ledger.ts'
import { readProcStat } from './proc-stat.ts'
import type { Watchdog, WatchedKind } from './watchdog.ts'

/** How often running processes are looked at for children that leave their group. */
const LOOK_INTERVAL_MS = 1_000
/**
 * New processes are entered together after this time. Most commands are over by then and cost nothing;
 * of the others a kill of the server in exactly these milliseconds would leave one behind.
 */
const ENTER_DELAY_MS = 3

interface Watched {
  process: ManagedProcess
  /** Members outside the group that the watchdog knows of. */
  strays: Map<number, string>
}

/**
 * Sees to it that nothing we started outlives us: keeps the watchdog and the ledger up to date with
 * every process group and every stray, until the last of them has ended.
 */
export class ProcessGuard {
  private readonly watched = new Map<number, Watched>()
  private readonly newcomers = new Set<ManagedProcess>()
  private looking: NodeJS.Timeout | undefined
  private entering: NodeJS.Timeout | undefined

  constructor(
    private readonly watchdog: Watchdog,
    private readonly ledger: ProcessLedger,
  ) {}

  /** A process is running from now on. */
  watch(process: ManagedProcess): void {
    this.newcomers.add(process)
    this.entering ??= setTimeout(() => this.enterNewcomers(), ENTER_DELAY_MS)
  }

  /** Watches a process group that is nobody's process. Returns what is called when the group has ended. */
  watchGroup(pid: number): () => void {
    const startTicks = readProcStat(pid)?.startTicks
    this.enter('g', pid, startTicks)
    return () => this.leave('g', pid, startTicks)
  }

  /** It has ended; what is left of its group stays watched. */
  ended(process: ManagedProcess): void {
    const { tree } = process
    if (!tree) return
    const entry = this.entryOf(process)
    if (entry) this.review(tree.rootPid, entry)
    else if (!isGroupAlive(tree.rootPid)) {
      this.newcomers.delete(process)
      tree.groupEnded()
    }
  }

  /** True while something that belongs to it may live. */
  isLiving(process: ManagedProcess): boolean {
    return this.newcomers.has(process) || this.entryOf(process) !== undefined
  }

  /** Every process whose group or strays still live. */
  living(): ManagedProcess[] {
    return [...this.newcomers, ...[...this.watched.values()].map(({ process }) => process)]
  }

  /** The last call: whatever is still there is the watchdog's now. */
  dispose(): void {
    this.enterNewcomers()
    clearInterval(this.looking)
    this.watchdog.release()
    this.ledger.close()
  }

  private enterNewcomers(): void {
    clearTimeout(this.entering)
    this.entering = undefined
    for (const process of this.newcomers) {
      const { tree } = process
      if (!tree) continue
      if (process.isRunning) tree.identify()
      this.watched.set(tree.rootPid, { process, strays: new Map() })
      this.enter('g', tree.rootPid, tree.startTicks)
    }
    this.newcomers.clear()
    if (this.watched.size > 0) this.looking ??= setInterval(() => this.look(), LOOK_INTERVAL_MS).unref()
  }

  /** A pid may have come round: then the entry is another process's. */
  private entryOf(process: ManagedProcess): Watched | undefined {
    const entry = process.tree && this.watched.get(process.tree.rootPid)
    return entry?.process === process ? entry : undefined
  }

  private look(): void {
    for (const [pid, entry] of this.watched) {
      if (entry.process.isRunning) {
        entry.process.tree?.look()
        noteStopped(entry.process, readProcStat(pid)?.state === 'T')
      }
      this.review(pid, entry)
    }
  }

  private review(pid: number, { process, strays }: Watched): void {
    const { tree } = process
    if (!tree) return
    const current = new Map(tree.strays().map((stray) => [stray.pid, stray.startTicks]))
    for (const [stray, startTicks] of current)
      if (!strays.has(stray)) {
        strays.set(stray, startTicks)
        this.enter('p', stray, startTicks)
      }
    for (const [stray, startTicks] of strays)
      if (!current.has(stray)) {
        strays.delete(stray)
        this.leave('p', stray, startTicks)
      }
    if (process.hasExited && strays.size === 0 && !isGroupAlive(pid)) {
      this.watched.delete(pid)
      tree.groupEnded()
      this.leave('g', pid, tree.startTicks)
    }
    if (this.watched.size === 0) {
      clearInterval(this.looking)
      this.looking = undefined
    }
  }

  private enter(kind: WatchedKind, pid: number, startTicks: string | undefined): void {
    this.watchdog.add(kind, pid, startTicks)
    this.ledger.started({ kind, pid, startTicks: startTicks ?? '' })
  }
  private leave(kind: WatchedKind, pid: number, startTicks: string | undefined): void {
    this.watchdog.remove(kind, pid, startTicks)
    this.ledger.ended(kind, pid)
  }
}

const STOPPED = 'stopped by a signal; it goes on when it gets the signal to continue'

/** A stopped process looks busy or dead to everybody who waits for it. */
function noteStopped(process: ManagedProcess, isStopped: boolean): void {
  if (isStopped) process.note(STOPPED)
  else if (process.detail === STOPPED) process.note(undefined)
}

function isGroupAlive(pgid: number): boolean {
  try {
    process.kill(-pgid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
