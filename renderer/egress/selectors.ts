/** What the Network page reads from the feed. Everything here is one pass over up to 100,000 rows. */
import type { ConnectionView } from '../../preload/api.ts'
import type { Narrowing } from '../components/places.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'

export type Verdict = 'allowed' | 'asked' | 'blocked' | 'failed'
export const VERDICTS: readonly Verdict[] = ['allowed', 'asked', 'blocked', 'failed']

type Connections = FeedState['tables']['connections']

/** Allowed stays allowed when the connection is over; a failure after the permission is a failure. */
export function verdictOf({ state, verdict }: Pick<ConnectionView, 'state' | 'verdict'>): Verdict {
  if (state === 'asked' || state === 'blocked' || state === 'failed') return state
  return verdict === 'deny' ? 'blocked' : 'allowed'
}

/** Latest first. Rows arrive in order of time, so mostly this only turns the table around. */
export const latestConnections = memoizeLast((table: Connections): readonly ConnectionView[] => {
  const rows = [...table.rows.values()].toReversed()
  const isOrdered = rows.every((row, i) => i === 0 || (rows[i - 1]?.openedAtMs ?? 0) >= row.openedAtMs)
  return isOrdered ? rows : rows.sort((a, b) => b.openedAtMs - a.openedAtMs)
})

export interface ConnectionFilter {
  query: string
  /** Empty = all. */
  verdicts: ReadonlySet<Verdict>
  narrowing: Narrowing | null
  host: string | null
  /** Opened in `[fromMs, toMs)`. */
  span: { fromMs: number; toMs: number } | null
}

export function filterConnections(
  rows: readonly ConnectionView[],
  filter: ConnectionFilter,
): readonly ConnectionView[] {
  const { verdicts, narrowing, host, span } = filter
  const query = filter.query.trim().toLowerCase()
  if (query === '' && verdicts.size === 0 && !narrowing && !host && !span) return rows
  return rows.filter(
    (row) =>
      (verdicts.size === 0 || verdicts.has(verdictOf(row))) &&
      (!host || row.host === host) &&
      (!span || (row.openedAtMs >= span.fromMs && row.openedAtMs < span.toMs)) &&
      (!narrowing || isNarrowedTo(row, narrowing)) &&
      (query === '' || matchesQuery(row, query)),
  )
}

function isNarrowedTo(row: ConnectionView, { by, value }: Narrowing): boolean {
  if (by === 'session') return row.sessionId === value
  return by === 'process' ? row.processId === value : row.host === value
}

function matchesQuery(row: ConnectionView, query: string): boolean {
  return (
    `${row.host}:${row.port}`.includes(query) ||
    Boolean(row.command?.toLowerCase().includes(query)) ||
    Boolean(row.sessionTitle?.toLowerCase().includes(query)) ||
    Boolean(row.ruleText?.toLowerCase().includes(query))
  )
}

const MINUTE_MS = 60_000
export const CHART_MINUTES = 60

export interface MinuteCounts {
  /** Start of the minute. */
  atMs: number
  allowed: number
  asked: number
  blocked: number
}

/** The last hour, minute by minute, oldest first. Failed connections count as allowed: nobody stopped them. */
export function countByMinute(rows: readonly ConnectionView[], nowMs: number): MinuteCounts[] {
  const lastMinute = Math.floor(nowMs / MINUTE_MS)
  const firstMinute = lastMinute - CHART_MINUTES + 1
  const minutes = Array.from({ length: CHART_MINUTES }, (_, i) => ({
    atMs: (firstMinute + i) * MINUTE_MS,
    allowed: 0,
    asked: 0,
    blocked: 0,
  }))
  for (const row of rows) {
    const minute = minutes[Math.floor(row.openedAtMs / MINUTE_MS) - firstMinute]
    if (!minute) continue
    const verdict = verdictOf(row)
    minute[verdict === 'failed' ? 'allowed' : verdict] += row.count
  }
  return minutes
}

export interface HostCount {
  host: string
  count: number
  blocked: number
}

/** Hosts by number of connections, most first. */
export function rankHosts(rows: readonly ConnectionView[], limit: number): HostCount[] {
  const counts = new Map<string, HostCount>()
  for (const row of rows) {
    const entry = counts.get(row.host) ?? { host: row.host, count: 0, blocked: 0 }
    entry.count += row.count
    if (verdictOf(row) === 'blocked') entry.blocked += row.count
    counts.set(row.host, entry)
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || (a.host < b.host ? -1 : 1)).slice(0, limit)
}

export interface SessionChoice {
  id: string
  title: string
}

/** Sessions that have connections here, by title. */
export const sessionsIn = memoizeLast((rows: readonly ConnectionView[]): readonly SessionChoice[] => {
  const titles = new Map<string, string>()
  for (const { sessionId, sessionTitle } of rows)
    if (sessionId !== null && !titles.has(sessionId)) titles.set(sessionId, sessionTitle ?? sessionId)
  return [...titles].map(([id, title]) => ({ id, title })).sort((a, b) => (a.title < b.title ? -1 : 1))
})

export type ConnectionSort = { column: string; descending: boolean }

const SORT_KEYS: Record<string, (row: ConnectionView) => number | string> = {
  time: (row) => row.openedAtMs,
  host: (row) => row.host,
  process: (row) => row.command ?? '',
  session: (row) => row.sessionTitle ?? '',
  bytes: (row) => row.bytesIn + row.bytesOut,
  duration: (row) => (row.closedAtMs ?? Number.MAX_SAFE_INTEGER) - row.openedAtMs,
}

/** Rows are latest first already, so that order costs nothing. */
export function sortConnections(rows: readonly ConnectionView[], sort: ConnectionSort): readonly ConnectionView[] {
  if (sort.column === 'time') return sort.descending ? rows : rows.toReversed()
  const keyOf = SORT_KEYS[sort.column]
  if (!keyOf) return rows
  const direction = sort.descending ? -1 : 1
  return [...rows].sort((a, b) => (keyOf(a) < keyOf(b) ? -direction : keyOf(a) > keyOf(b) ? direction : 0))
}
