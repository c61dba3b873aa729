/**
 * What is kept with a thread beside its turns: queued input, a goal, the memory mode. The truth is a
 * record in the rollout; the newest one counts.
 */
import type { QueuedSubmission, ThreadGoal } from '../../protocol/app-server/thread.ts'
import type { RecordPayload } from '../rollout/rollout-record.ts'

export interface ThreadExtras {
  queue: QueuedSubmission[]
  /** An interrupted turn pauses the queue until the person goes on. */
  queuePaused: boolean
  goal: ThreadGoal | null
  memoryMode: 'enabled' | 'disabled'
}

export const noExtras = (): ThreadExtras => ({ queue: [], queuePaused: false, goal: null, memoryMode: 'enabled' })

/** The record that holds all of it; small enough to be written whole with every change. */
export function extrasRecord(extras: ThreadExtras): RecordPayload {
  return { type: 'thread_extras', ...extras }
}

/** One that an earlier version stored has neither times nor a thread. */
function goalOf(stored: unknown): ThreadGoal | null {
  const goal = stored as Partial<ThreadGoal> | null | undefined
  if (typeof goal?.objective !== 'string') return null
  return {
    threadId: '',
    status: 'paused',
    tokenBudget: null,
    tokensUsed: 0,
    timeUsedSeconds: 0,
    createdAt: 0,
    updatedAt: 0,
    ...goal,
    objective: goal.objective,
  }
}

export function extrasOf(record: RecordPayload | null): ThreadExtras {
  const known = noExtras()
  if (!record) return known
  return {
    queue: Array.isArray(record.queue) ? (record.queue as QueuedSubmission[]) : known.queue,
    queuePaused: record.queuePaused === true,
    goal: goalOf(record.goal),
    memoryMode: record.memoryMode === 'disabled' ? 'disabled' : 'enabled',
  }
}
