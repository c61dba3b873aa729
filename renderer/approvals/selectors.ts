/** What the Inbox reads from the feed. */
import type { ApprovalView, ProcessView } from '../../preload/api.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'

const oldestFirst = (a: ApprovalView, b: ApprovalView): number => a.askedAtMs - b.askedAtMs || (a.id < b.id ? -1 : 1)

const pendingOf = memoizeLast((table: FeedState['tables']['approvals']) =>
  [...table.rows.values()].filter((request) => request.state === 'pending').sort(oldestFirst),
)

/** Waiting requests, oldest first. */
export function selectPending(state: FeedState): readonly ApprovalView[] {
  return pendingOf(state.tables.approvals)
}

const commandsOf = memoizeLast(
  (table: FeedState['tables']['approvals']) =>
    new Map(
      pendingOf(table).flatMap(({ id, processId, subject }) =>
        processId !== null && subject.kind === 'command' ? [[processId, id] as const] : [],
      ),
    ),
)

/** The waiting request on whose answer a process that has not started depends; null without one. */
export function selectRequestOfStart(state: FeedState, process: Pick<ProcessView, 'id' | 'state'>): string | null {
  return process.state === 'starting' ? (commandsOf(state.tables.approvals).get(process.id) ?? null) : null
}

export function selectPendingCount(state: FeedState): number {
  return selectPending(state).length
}

/** When a request ended; its asking time where the host does not say. */
export function endedAtMs(request: ApprovalView): number {
  return request.decision?.decidedAtMs ?? request.askedAtMs
}

const endedOf = memoizeLast((table: FeedState['tables']['approvals']) =>
  [...table.rows.values()].filter((request) => request.state !== 'pending').sort((a, b) => endedAtMs(b) - endedAtMs(a)),
)

/** Requests that are over, latest first. */
export function selectEnded(state: FeedState): readonly ApprovalView[] {
  return endedOf(state.tables.approvals)
}

export function selectApproval(state: FeedState, id: string): ApprovalView | null {
  return state.tables.approvals.rows.get(id) ?? null
}

/** True until the first agent or request was ever seen: then the Inbox explains how to connect one. */
export function selectIsFirstRun(state: FeedState): boolean {
  const { sessions, approvals, processes, connections } = state.tables
  return state.phase === 'live' && [sessions, approvals, processes, connections].every((table) => table.rows.size === 0)
}
