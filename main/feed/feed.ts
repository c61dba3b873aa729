import type { FeedBatch, FeedCounters, FeedDelta, FeedSnapshot, FeedTables, SettingsView } from '../../preload/api.ts'

/** At most one batch per frame: more would only make the window lay out twice for one picture. */
const FLUSH_INTERVAL_MS = 16

export type FeedListener = (batch: FeedBatch) => void

export interface FeedOptions {
  host: FeedSnapshot['host']
  settings: SettingsView
  /** Told when a listener throws; the others still get the batch. */
  onListenerError?: (error: unknown) => void
}

type TableName = keyof FeedTables
const TABLES: readonly TableName[] = [
  'sessions',
  'approvals',
  'processes',
  'connections',
  'rules',
  'ruleProblems',
  'sidecars',
  'notices',
]

/**
 * What views see: keyed tables, counters and settings, as a snapshot and then ordered batches.
 *
 * Changes of one key within a frame are sent once, with the last value. Every subscriber gets every
 * batch from its subscription on; a view subscribes first, then asks for the snapshot and drops batches
 * with a `rev` at or below the snapshot's. Disposing drops what was not sent yet.
 */
export class Feed {
  private readonly tables = Object.fromEntries(TABLES.map((table) => [table, new Map()])) as {
    [T in TableName]: Map<string, FeedTables[T]>
  }
  private readonly listeners = new Set<FeedListener>()
  private readonly dirty = new Map<string, { table: TableName; key: string }>()
  private countersChanged = false
  private settingsChanged = false
  private counters: FeedCounters = { blockedToday: 0, allowedToday: 0, decidedToday: 0, connectionsTotal: 0 }
  private settings: SettingsView
  private rev = 0
  private lastFlushAtMs = Number.NEGATIVE_INFINITY
  private timer: NodeJS.Timeout | undefined
  private disposed = false

  constructor(private readonly options: FeedOptions) {
    this.settings = options.settings
  }

  get subscriberCount(): number {
    return this.listeners.size
  }

  set<T extends TableName>(table: T, key: string, value: FeedTables[T]): void {
    if (this.tables[table].get(key) === value) return
    this.tables[table].set(key, value)
    this.mark(table, key)
  }

  delete(table: TableName, key: string): void {
    if (this.tables[table].delete(key)) this.mark(table, key)
  }

  /** The current value, flushed or not. */
  get<T extends TableName>(table: T, key: string): FeedTables[T] | undefined {
    return this.tables[table].get(key)
  }

  keys(table: TableName): string[] {
    return [...this.tables[table].keys()]
  }

  setCounters(counters: FeedCounters): void {
    this.counters = counters
    this.countersChanged = true
    this.schedule()
  }

  setSettings(settings: SettingsView): void {
    this.settings = settings
    this.settingsChanged = true
    this.schedule()
  }

  /** Everything as of `rev`. Pending changes are sent first, so no later batch repeats what is in here. */
  snapshot(): FeedSnapshot {
    this.flush()
    const tables = Object.fromEntries(TABLES.map((table) => [table, Object.fromEntries(this.tables[table])]))
    return {
      rev: this.rev,
      tables: tables as FeedSnapshot['tables'],
      counters: this.counters,
      settings: this.settings,
      host: this.options.host,
    }
  }

  /** Calls `listener` with every batch from now on; the caller owns the returned function and ends with it. */
  subscribe(listener: FeedListener): () => void {
    // A wrapper, so that one function subscribed twice is two subscriptions.
    const entry: FeedListener = (batch) => listener(batch)
    this.listeners.add(entry)
    return () => this.listeners.delete(entry)
  }

  /** Sends pending changes now. */
  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const deltas = this.takeDeltas()
    if (deltas.length === 0) return
    this.lastFlushAtMs = performance.now()
    const batch: FeedBatch = { rev: ++this.rev, deltas }
    for (const listener of this.listeners)
      try {
        listener(batch)
      } catch (error) {
        this.options.onListenerError?.(error)
      }
  }

  dispose(): void {
    this.disposed = true
    clearTimeout(this.timer)
    this.listeners.clear()
    this.dirty.clear()
  }

  private takeDeltas(): FeedDelta[] {
    const deltas = [...this.dirty.values()].map(
      ({ table, key }) => ({ table, key, value: this.tables[table].get(key) ?? null }) as FeedDelta,
    )
    this.dirty.clear()
    if (this.countersChanged) deltas.push({ counters: this.counters })
    if (this.settingsChanged) deltas.push({ settings: this.settings })
    this.countersChanged = false
    this.settingsChanged = false
    return deltas
  }

  private mark(table: TableName, key: string): void {
    this.dirty.set(`${table} ${key}`, { table, key })
    this.schedule()
  }

  private schedule(): void {
    if (this.timer || this.disposed) return
    const sinceMs = performance.now() - this.lastFlushAtMs
    this.timer = setTimeout(() => this.flush(), Math.max(0, FLUSH_INTERVAL_MS - sinceMs))
  }
}
