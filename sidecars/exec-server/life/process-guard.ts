import type { ManagedProcess } from '../processes/managed-process.ts'
import type { ProcessLedger } from './process-ledger.ts'
import { readProcStat } from './proc-stat.ts'
import type { Watchdog, WatchedKind } from './watchdog.ts'

/** How often running processes are looked at for children that leave their group. */
const LOOK_INTERVAL_MS = 1_000

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
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly watchdog: Watchdog,
    private readonly ledger: ProcessLedger,
  ) {}

  /** A process is running from now on. */
  watch(process: ManagedProcess): void {
    const { tree } = process
    if (!tree) return
    this.watched.set(tree.rootPid, { process, strays: new Map() })
    this.enter('g', tree.rootPid, tree.startTicks)
    this.timer ??= setInterval(() => this.look(), LOOK_INTERVAL_MS).unref()
  }

  /** It has ended; what is left of its group stays watched. */
  ended(process: ManagedProcess): void {
    const { tree } = process
    const entry = tree && this.watched.get(tree.rootPid)
    if (entry) this.review(tree.rootPid, entry)
  }

  /** Every process whose group or strays still live. */
  living(): ManagedProcess[] {
    return [...this.watched.values()].map(({ process }) => process)
  }

  /** The last call: whatever is still there is the watchdog's now. */
  dispose(): void {
    clearInterval(this.timer)
    this.watchdog.release()
    this.ledger.close()
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
      this.leave('g', pid, tree.startTicks)
    }
    if (this.watched.size === 0) {
      clearInterval(this.timer)
      this.timer = undefined
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
