import type { ManagedProcess } from './managed-process.ts'

/** Ends processes: the whole group, and what left it. */
export class ProcessStopper {
  /** SIGINT to the group. Nothing happens to a process that has ended. */
  interrupt(process: ManagedProcess): void {
    if (process.isRunning) signalGroup(process, 'SIGINT')
  }

  /** Kills at once, without grace. True when there was something to end. */
  terminate(process: ManagedProcess): boolean {
    if (process.state === 'starting') {
      process.startAbort.abort()
      return true
    }
    if (!process.isRunning) return false
    signalGroup(process, 'SIGKILL')
    return true
  }
}

function signalGroup({ pid }: ManagedProcess, signal: NodeJS.Signals): void {
  if (pid === null) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Gone in this moment.
  }
}
