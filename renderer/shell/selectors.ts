/** What the frame reads from the feed. */
import type { NoticeView, SidecarView } from '../../preload/api.ts'
import { SIDECAR_ORDER } from '../components/sidecar-names.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'

const sidecarsOf = memoizeLast((table: FeedState['tables']['sidecars']): SidecarView[] =>
  SIDECAR_ORDER.flatMap((name) => table.rows.get(name) ?? []),
)

/** Always in the same order. */
export function selectSidecars(state: FeedState): readonly SidecarView[] {
  return sidecarsOf(state.tables.sidecars)
}

const liveSessions = memoizeLast(
  (table: FeedState['tables']['sessions']) =>
    [...table.rows.values()].filter((session) => session.closedAtMs === null).length,
)
const liveProcesses = memoizeLast(
  (table: FeedState['tables']['processes']) =>
    [...table.rows.values()].filter((process) => process.state === 'starting' || process.state === 'running').length,
)

export function selectLiveSessionCount(state: FeedState): number {
  return liveSessions(state.tables.sessions)
}

export function selectLiveProcessCount(state: FeedState): number {
  return liveProcesses(state.tables.processes)
}

const noticesOf = memoizeLast((table: FeedState['tables']['notices']): NoticeView[] =>
  [...table.rows.values()].sort((a, b) => b.atMs - a.atMs),
)

/** Latest first. */
export function selectNotices(state: FeedState): readonly NoticeView[] {
  return noticesOf(state.tables.notices)
}
