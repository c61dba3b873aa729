/**
 * The index of threads, turns and items in one SQLite file. It answers lists and pages without reading
 * rollout files; it may be deleted at any time, since everything in it stands in those files too.
 */
import { IndexDatabase } from './index-database.ts'
import { IndexedHistory } from './indexed-history.ts'
import type { RecordPayload } from './rollout-record.ts'
import type { SqlValue } from './sqlite.ts'
import type { StoredThread } from './stored-thread.ts'
import { conditions, DESCENDANTS, searchable, sourceKind, type ThreadQuery } from './thread-query.ts'

const ROW = 'select threads.*, turn_context, extras from threads left join thread_states on thread_id = id'
export interface ThreadRow {
  thread: StoredThread
  turnContext: RecordPayload | null
  /** Newest `thread_extras` record: queue, goal, memory mode. */
  extras: RecordPayload | null
  indexedBytes: number
  nextOrdinal: number
}

/** Owned by the thread store, which closes it. All calls are synchronous and short. */
export class ThreadIndex {
  readonly history: IndexedHistory

  private constructor(private readonly db: IndexDatabase) {
    this.history = new IndexedHistory(db)
  }

  /** See IndexDatabase. */
  static open(path: string, discard: (path: string) => void): ThreadIndex {
    return new ThreadIndex(IndexDatabase.open(path, discard))
  }

  get isBuilt(): boolean {
    return this.db.isBuilt
  }

  /** Remembers, also for the next start, that all files were read. */
  markBuilt(): void {
    this.db.markBuilt()
  }

  /** All or nothing, and much faster than one by one. */
  transaction(work: () => void): void {
    this.db.transaction(work)
  }

  putThread({ thread, indexedBytes, nextOrdinal }: ThreadRow): void {
    this.db
      .sql(`insert or replace into threads values (?,?,?,?,?,?,?,?,?,?,?,?,?)`)
      .run(
        thread.id,
        thread.path,
        thread.archived ? 1 : 0,
        thread.createdAtMs,
        thread.updatedAtMs,
        thread.cwd,
        thread.modelProvider,
        sourceKind(thread.source),
        thread.parentThreadId,
        searchable(`${thread.preview}\n${thread.name ?? ''}`),
        indexedBytes,
        nextOrdinal,
        JSON.stringify(thread),
      )
  }

  /** What is needed to go on with a thread; apart from its row, so that lists do not read it. */
  putState(threadId: string, { turnContext, extras }: Pick<ThreadRow, 'turnContext' | 'extras'>): void {
    this.db
      .sql('insert or replace into thread_states values (?,?,?)')
      .run(threadId, turnContext ? JSON.stringify(turnContext) : null, extras ? JSON.stringify(extras) : null)
  }

  thread(id: string): ThreadRow | null {
    const row = this.db.sql(`${ROW} where id = ?`).get(id)
    return row ? threadRow(row) : null
  }

  threadAt(path: string): ThreadRow | null {
    const row = this.db.sql(`${ROW} where path = ?`).get(path)
    return row ? threadRow(row) : null
  }

  /** Ids of all threads below one, nearest first. */
  descendants(id: string): string[] {
    return this.db
      .sql(DESCENDANTS)
      .all(id)
      .map((row) => String(row.id))
  }

  /** How far each file was read, for paths from the first (with it) up to the second (without it). */
  filesBetween(from: string, below: string): Map<string, number> {
    const rows = this.db.sql('select path, indexed_bytes from threads where path >= ? and path < ?').all(from, below)
    return new Map(rows.map((row) => [String(row.path), Number(row.indexed_bytes)]))
  }

  /** Paths of indexed files in order, behind one of them. */
  pathsAfter(after: string, limit: number): string[] {
    return this.db
      .sql('select path from threads where path > ? order by path limit ?')
      .all(after, limit)
      .map((row) => String(row.path))
  }

  remove(threadId: string): void {
    this.db.sql('delete from threads where id=?').run(threadId)
    this.db.sql('delete from thread_states where thread_id=?').run(threadId)
    this.history.cut(threadId, 0)
  }

  list(query: ThreadQuery): StoredThread[] {
    const { where, values } = conditions(query)
    const column = query.sort === 'created_at' ? 'created_at' : 'updated_at'
    const direction = query.descending ? 'desc' : 'asc'
    return this.db
      .sql(
        `select thread from threads where ${where.join(' and ')} order by ${column} ${direction}, id ${direction} limit ?`,
      )
      .all(...values, query.limit)
      .map((row) => JSON.parse(String(row.thread)) as StoredThread)
  }

  close(): void {
    this.db.close()
  }
}

function threadRow(row: Record<string, SqlValue>): ThreadRow {
  const payload = (value: SqlValue | undefined): RecordPayload | null =>
    typeof value === 'string' ? (JSON.parse(value) as RecordPayload) : null
  return {
    thread: JSON.parse(String(row.thread)) as StoredThread,
    turnContext: payload(row.turn_context),
    extras: payload(row.extras),
    indexedBytes: Number(row.indexed_bytes),
    nextOrdinal: Number(row.next_ordinal),
  }
}
