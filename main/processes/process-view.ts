import type { ProcessView } from '../../preload/api.ts'
import type { ProcessFacts } from '../../sidecars/protocol/host-channel.ts'

export interface ProcessUsage {
  cpuPercent: number
  rssBytes: number
}

/** What is known of a process elsewhere in the host. */
export interface ProcessContext {
  sessionTitle: string
  usage: ProcessUsage | undefined
  connectionCount: number
  blockedCount: number
}

/** What the window shows of a process. */
export function processView(facts: ProcessFacts, { sessionTitle, usage, ...counts }: ProcessContext): ProcessView {
  const isRunning = facts.state === 'running' || facts.state === 'exited'
  return {
    ...facts,
    sessionTitle,
    cpuPercent: isRunning && usage ? usage.cpuPercent : null,
    rssBytes: isRunning && usage ? usage.rssBytes : null,
    ...counts,
  }
}

/** Whether anything of it may still be at work: `exited` has children that hold its output open. */
export function isAlive({ state }: Pick<ProcessFacts, 'state'>): boolean {
  return state === 'starting' || state === 'running' || state === 'exited'
}
