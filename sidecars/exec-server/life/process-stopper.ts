import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessMember, ProcessSignalName } from '../../protocol/host-channel.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'
import { holdersOf, readProcStat } from './proc-stat.ts'

/** How long a process may take to end after SIGTERM before it is killed. */
export const TERMINATE_GRACE_MS = 2_000
/** After a kill: how often the tree is looked at again for what slipped through, and how long. */
const SWEEP_INTERVALS_MS = [20, 50, 100, 200, 400, 800]

const SIGNALS: Record<ProcessSignalName, NodeJS.Signals> = {
  interrupt: 'SIGINT',
  terminate: 'SIGTERM',
  kill: 'SIGKILL',
  quit: 'SIGQUIT',
  hangup: 'SIGHUP',
  stop: 'SIGSTOP',
  continue: 'SIGCONT',
}

/** Ends processes: the whole group, and what has left it. */
export class ProcessStopper {
  /** SIGINT to the group, as a wire client means it. Nothing happens to a process that has ended. */
  interrupt(process: ManagedProcess): void {
    if (!process.isRunning) return
    // On a terminal its wardens are deaf to it.
    if (process.hasWardens && !process.seed.tty) void this.interruptInside(process)
    else signalGroup(process, 'SIGINT')
  }

  /**
   * Kills at once, without grace; what has left the group is hunted down afterwards. A start under way
   * is withdrawn. True when there was something to end.
   */
  terminate(process: ManagedProcess): boolean {
    if (process.state === 'starting') {
      process.withdrawStart()
      return true
    }
    if (!process.isRunning) return false
    this.kill(process)
    return true
  }

  /**
   * Sends a signal to the whole tree; `terminate` kills what is left after the grace time. Also works
   * on what an ended process has left behind. Resolves with who was hit.
   */
  async signal(process: ManagedProcess, name: ProcessSignalName): Promise<ProcessMember[]> {
    if (process.state === 'starting') {
      if (name === 'terminate' || name === 'kill') process.withdrawStart()
      return []
    }
    const { tree } = process
    if (!tree) return []
    tree.look()
    const members = await tree.members()
    if (name === 'interrupt' && process.seed.tty && process.isRunning) interruptForeground(process)
    else for (const { pid } of POLITE.has(name) ? inmates(process, members) : members) signalOne(pid, SIGNALS[name])
    const strays = new Map(members.filter(({ ownGroup }) => !ownGroup).map(({ pid, name }) => [pid, name]))
    if (name === 'kill') void this.sweep(process, strays)
    if (name === 'terminate') {
      // A stopped process cannot act on the signal.
      for (const { pid } of members) signalOne(pid, 'SIGCONT')
      void this.killAfterGrace(process, strays)
    }
    return members
  }

  /** SIGTERM to everything of `processes`; resolves when all have ended, or after `graceMs`. */
  async askToEnd(processes: readonly ManagedProcess[], graceMs: number): Promise<void> {
    for (const process of processes) {
      const { tree } = process
      tree?.look()
      for (const { pid } of inmates(process, (await tree?.members()) ?? [])) {
        signalOne(pid, 'SIGTERM')
        signalOne(pid, 'SIGCONT')
      }
    }
    const endsAtMs = performance.now() + graceMs
    while (performance.now() < endsAtMs && processes.some(({ isRunning }) => isRunning)) await sleep(20)
  }

  /** Kills everything of `process` that can be found; resolves when nothing is left or it cannot be helped. */
  async endWholly(process: ManagedProcess): Promise<void> {
    if (process.state === 'starting') process.withdrawStart()
    else await this.sweep(process, this.killGroup(process))
  }

  private async interruptInside(process: ManagedProcess): Promise<void> {
    process.tree?.look()
    const members = (await process.tree?.members()) ?? []
    for (const { pid } of inmates(process, members).filter(({ ownGroup }) => ownGroup)) signalOne(pid, 'SIGINT')
  }

  private kill(process: ManagedProcess): void {
    void this.sweep(process, this.killGroup(process))
  }

  /**
   * Kills at once what can be found; returns who of them was outside the group. Everybody is stopped
   * first: a process that forks while it is being killed would leave a child that nobody has seen.
   */
  private killGroup(process: ManagedProcess): Map<number, string> {
    const { tree } = process
    const strays = new Map<number, string>()
    if (!tree) return strays
    // Of a group whose leader has ended, only members that are known to be ours are killed, by the sweep.
    if (process.isRunning) signalGroup(process, 'SIGSTOP')
    for (let isNew = true; isNew;) {
      isNew = tree.look()
      for (const { pid } of tree.strays()) {
        strays.set(pid, readProcStat(pid)?.name ?? '')
        signalOne(pid, 'SIGSTOP')
      }
    }
    for (const pid of strays.keys()) signalOne(pid, 'SIGKILL')
    if (process.isRunning) signalGroup(process, 'SIGKILL')
    return strays
  }

  private async killAfterGrace(process: ManagedProcess, strays: Map<number, string>): Promise<void> {
    const endsAtMs = performance.now() + TERMINATE_GRACE_MS
    while (performance.now() < endsAtMs) {
      await sleep(100)
      const left = await process.tree?.members()
      if (!left || left.length === 0) break
    }
    await this.sweep(process, new Map([...strays, ...this.killGroup(process)]))
  }

  /** Looks for survivors until there are none; names those that were outside the group. */
  private async sweep(process: ManagedProcess, strays: Map<number, string>): Promise<void> {
    const { tree } = process
    if (!tree) return
    let survivors = await tree.members()
    for (const waitMs of SWEEP_INTERVALS_MS) {
      if (survivors.length === 0 && process.isClosed) break
      for (const { pid, name, ownGroup } of survivors) {
        if (!ownGroup) strays.set(pid, name)
        signalOne(pid, 'SIGKILL')
      }
      await sleep(waitMs)
      survivors = await tree.members()
      // Whoever still holds the output open came from this process, however well it has hidden.
      if (survivors.length === 0 && process.hasExited && !process.isClosed)
        for (const pid of holdersOf(process.outputPaths)) {
          strays.set(pid, readProcStat(pid)?.name ?? '')
          signalOne(pid, 'SIGKILL')
        }
    }
    if (survivors.length > 0) process.note(`still running: ${list(survivors.map(({ pid, name }) => [pid, name]))}`)
    else if (strays.size > 0) process.note(`also stopped: ${list([...strays])}`)
  }
}

/** Signals that a program may answer in its own way. */
const POLITE: ReadonlySet<ProcessSignalName> = new Set(['interrupt', 'terminate', 'quit', 'hangup'])

/** Without bwrap's own processes: the root, and the first one inside, which reaps for the others. */
function inmates(process: ManagedProcess, members: readonly ProcessMember[]): readonly ProcessMember[] {
  if (!process.hasWardens || !process.isRunning) return members
  return members.filter(({ pid, ppid }) => pid !== process.pid && ppid !== process.pid)
}

function list(processes: readonly (readonly [number, string])[]): string {
  return processes.map(([pid, name]) => `${name} (pid ${pid})`).join(', ')
}

/** What Ctrl-C does: the job in front, which a shell has put into a group of its own. */
function interruptForeground({ pid }: ManagedProcess): void {
  const foreground = pid === null ? undefined : readProcStat(pid)?.foregroundGroup
  if (foreground !== undefined && foreground > 1) signalOne(-foreground, 'SIGINT')
  else if (pid !== null) signalOne(-pid, 'SIGINT')
}

/** Only while the leader has not been reaped. It may not have come to lead its group yet. */
function signalGroup({ pid }: ManagedProcess, signal: NodeJS.Signals): void {
  if (pid !== null && !signalOne(-pid, signal)) signalOne(pid, signal)
}

/** False when there is nobody of that number, or it is not ours to signal. */
function signalOne(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
