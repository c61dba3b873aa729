/** Snapshot and deltas to state: the only writer of the tables. */
import type { FeedBatch, FeedDelta, FeedSnapshot, FeedTables, SidecarName, SidecarView } from '../../preload/api.ts'
import type { FeedState } from './feed-state.ts'
import { TABLE_NAMES, type Table, type TableName, type Tables } from './tables.ts'

type LastReady = FeedState['lastReadyAtMs']

/** The state that a snapshot describes; nothing of an earlier state but the times of last truth survives. */
export function applySnapshot(state: FeedState, snapshot: FeedSnapshot, nowMs: number): FeedState {
  const tables: Partial<Record<TableName, Table<unknown>>> = {}
  for (const name of TABLE_NAMES)
    tables[name] = { rows: new Map<string, unknown>(Object.entries(snapshot.tables[name])) }
  const lastReadyAtMs: Partial<Record<SidecarName, number>> = { ...state.lastReadyAtMs }
  for (const sidecar of Object.values(snapshot.tables.sidecars))
    if (sidecar.state === 'ready') lastReadyAtMs[sidecar.name] = nowMs
  return {
    phase: 'live',
    failure: null,
    rev: snapshot.rev,
    tables: tables as Tables,
    counters: snapshot.counters,
    settings: snapshot.settings,
    host: snapshot.host,
    lastReadyAtMs,
  }
}

/**
 * The state after consecutive batches. The caller has made sure that the first batch follows
 * `state.rev` and that none is missing in between.
 */
export function applyBatches(state: FeedState, batches: readonly FeedBatch[], nowMs: number): FeedState {
  const changed = new Map<TableName, Map<string, unknown>>()
  let { counters, settings, lastReadyAtMs, rev } = state

  for (const batch of batches) {
    rev = batch.rev
    for (const delta of batch.deltas) {
      if ('counters' in delta) counters = delta.counters
      else if ('settings' in delta) settings = delta.settings
      else {
        const rows = changed.get(delta.table) ?? (state.tables[delta.table].rows as Map<string, unknown>)
        changed.set(delta.table, rows)
        if (delta.table === 'sidecars') lastReadyAtMs = noteReadiness(lastReadyAtMs, rows.get(delta.key), delta, nowMs)
        if (delta.value === null) rows.delete(delta.key)
        else rows.set(delta.key, delta.value)
      }
    }
  }

  let tables = state.tables
  for (const [name, rows] of changed) tables = { ...tables, [name]: { rows } }
  return { ...state, rev, tables, counters, settings, lastReadyAtMs }
}

/** A sidecar that is ready now, or was until this delta, was telling the truth until now. */
function noteReadiness(
  known: LastReady,
  before: unknown,
  delta: Extract<FeedDelta, { table: 'sidecars' }>,
  nowMs: number,
): LastReady {
  const previous = before as SidecarView | undefined
  const next: FeedTables['sidecars'] | null = delta.value
  const name = next?.name ?? previous?.name
  if (!name || (previous?.state !== 'ready' && next?.state !== 'ready')) return known
  return { ...known, [name]: nowMs }
}
