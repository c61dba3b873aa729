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

export function extrasOf(record: RecordPayload | null): ThreadExtras {
  const known = noExtras()
  if (!record) return known
  return {
    queue: Array.isArray(record.queue) ? (record.queue as QueuedSubmission[]) : known.queue,
    queuePaused: record.queuePaused === true,
    goal: (record.goal as ThreadGoal | null | undefined) ?? null,
    memoryMode: record.memoryMode === 'disabled' ? 'disabled' : 'enabled',
  }
}
