import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentProcess } from '../processes/agent-process.ts'
import { withProgress } from './call-progress.ts'
import { formatBytes } from './process-result.ts'

/**
 * When a call gives back a handle instead of a result. Many clients give up on a call after 60 s.
 */
export const DEFAULT_YIELD_MS = 45_000
export const MAX_YIELD_MS = 3_600_000

export interface ProcessWait {
  until: 'started' | 'settled'
  limitMs: number
  /** The process ends with the call when the client gives the call up. */
  stopsWithCall: boolean
}

/**
 * Waits for a process on behalf of one call, telling progress. Returns when the state was reached or
 * the limit passed.
 * @throws the signal's reason when the client gave the call up
 */
export async function waitForProcess(
  process: AgentProcess,
  wait: ProcessWait,
  context: ServerContext,
  signal: AbortSignal,
): Promise<void> {
  await withProgress(
    context,
    () => describe(process),
    async (changed) => {
      void process.started.then(changed)
      const reached = wait.until === 'started' ? process.started : process.settled
      await within(reached, wait.limitMs, signal)
    },
  )
  if (!signal.aborted) return
  if (wait.stopsWithCall) void process.stop()
  signal.throwIfAborted()
}

function describe(process: AgentProcess): string {
  // Also when it was refused: then the result is what tells.
  if (!process.onExecServer) return 'waiting for approval in Gatehouse'
  const { totalBytes } = process.output
  return totalBytes === 0 ? 'running' : `running, ${formatBytes(totalBytes)} of output`
}

async function within(reached: Promise<void>, limitMs: number, signal: AbortSignal): Promise<void> {
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const timer = setTimeout(end, limitMs)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  await Promise.race([reached, ended])
  clearTimeout(timer)
  signal.removeEventListener('abort', end)
}
