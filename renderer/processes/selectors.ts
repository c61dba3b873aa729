/** What the Processes page reads from the feed. */
import type { ProcessView } from '../../preload/api.ts'
import { commandText } from '../approvals/subject-words.ts'
import type { Narrowing } from '../components/places.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'

/** Starting or running: it can still do something. */
export function isLive(process: Pick<ProcessView, 'state'>): boolean {
  return process.state === 'starting' || process.state === 'running'
}

const latestFirst = memoizeLast((table: FeedState['tables']['processes']) =>
  [...table.rows.values()].sort(
    (a, b) => Number(isLive(b)) - Number(isLive(a)) || b.startedAtMs - a.startedAtMs || (a.id < b.id ? -1 : 1),
  ),
)

/** Live ones first, then by start, latest first. */
export function selectProcesses(state: FeedState): readonly ProcessView[] {
  return latestFirst(state.tables.processes)
}

export type ProcessSort = { column: string; descending: boolean }

const SORT_KEYS: Record<string, (process: ProcessView) => number | string> = {
  command: (process) => commandText(process.argv),
  session: (process) => process.sessionTitle,
  started: (process) => process.startedAtMs,
  cpu: (process) => process.cpuPercent ?? -1,
  memory: (process) => process.rssBytes ?? -1,
  output: (process) => process.outputBytes,
}

export interface ProcessFilter {
  query: string
  liveOnly: boolean
  narrowing: Narrowing | null
}

/** Rows of the table: searched in command, folder, session and pid. */
export function filterProcesses(
  processes: readonly ProcessView[],
  filter: ProcessFilter,
  sort: ProcessSort | null,
): readonly ProcessView[] {
  const query = filter.query.trim().toLowerCase()
  const { narrowing } = filter
  const rows = processes.filter((process) => {
    if (filter.liveOnly && !isLive(process)) return false
    if (narrowing?.by === 'session' && process.sessionId !== narrowing.value) return false
    if (query === '') return true
    return `${commandText(process.argv)}\n${process.cwd}\n${process.sessionTitle}\n${process.pid ?? ''}`
      .toLowerCase()
      .includes(query)
  })
  const keyOf = sort && SORT_KEYS[sort.column]
  if (!keyOf) return rows
  const direction = sort.descending ? -1 : 1
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -direction : keyOf(a) > keyOf(b) ? direction : 0))
}

/** How it ended, for people: "exit 0", "SIGKILL", "not started", "lost" with its exec server; null while it lives. */
export function exitWords(process: Pick<ProcessView, 'state' | 'pid' | 'exitCode' | 'exitSignal'>): string | null {
  if (isLive(process)) return null
  if (process.exitSignal) return process.exitSignal
  if (process.exitCode !== undefined) return `exit ${process.exitCode}`
  if (process.state !== 'failed') return 'ended'
  return process.pid === null ? 'not started' : 'lost'
}

/** It ended as a program does that is content. */
export function endedWell(process: Pick<ProcessView, 'exitCode' | 'exitSignal'>): boolean {
  return process.exitCode === 0 && !process.exitSignal
}
