/**
 * The index of threads, turns and items in one SQLite file. It answers lists and pages without reading
 * rollout files; it may be deleted at any time, since everything in it stands in those files too.
 */
import type { ThreadSource } from '../../protocol/app-server/thread.ts'
import type { RecordPayload } from './rollout-record.ts'
import { openSqlite, type SqlDatabase, type SqlStatement, type SqlValue } from './sqlite.ts'
import type { HistoryBase, StoredThread } from './stored-thread.ts'

/** Raised when a table changes; an index of another version is thrown away and built again. */
const INDEX_VERSION = 2

const SCHEMA = `
create table if not exists threads (
  id text primary key, session_id text, path text, archived integer, created_at integer, updated_at integer,
  preview text, name text, cwd text, model_provider text, model text, source text, originator text, parent_id text,
  project_id text, rest text, turn_context text, extras text, indexed_bytes integer, next_ordinal integer
) without rowid;
create index if not exists threads_by_update on threads (archived, updated_at desc, id);
create index if not exists threads_by_creation on threads (archived, created_at desc, id);
create index if not exists threads_by_path on threads (path);
create table if not exists turns (
  thread_id text, ordinal integer, turn_id text, root_turn_id text, status text, started_at integer, completed_at integer,
  duration_ms integer, error text, primary key (thread_id, ordinal)
) without rowid;
create table if not exists items (
  thread_id text, ordinal integer, turn_id text, item_id text, kind text, offset integer, length integer,
  primary key (thread_id, ordinal)
) without rowid;
create index if not exists items_by_turn on items (thread_id, turn_id, ordinal);
`

export interface IndexedTurn {
  ordinal: number
  turnId: string
  rootTurnId: string
  status: 'inProgress' | 'completed' | 'interrupted' | 'failed'
  startedAt: number | null
  completedAt: number | null
  durationMs: number | null
  error: unknown
}
export interface IndexedItem {
  ordinal: number
  turnId: string
  itemId: string
  kind: string
  offset: number
  length: number
}
export interface ThreadRow {
  thread: StoredThread
  turnContext: RecordPayload | null
  /** Newest `thread_extras` record: queue, goal, memory mode. */
  extras: RecordPayload | null
  indexedBytes: number
  nextOrdinal: number
}

export type ThreadSort = 'created_at' | 'updated_at' | 'recency_at'
export interface ThreadQuery {
  archived: boolean
  sort: ThreadSort
  descending: boolean
  limit: number
  /** Rows strictly behind this one in the order asked for. */
  after: { atMs: number; id: string } | null
  modelProviders: readonly string[] | null
  sources: readonly string[] | null
  cwds: readonly string[] | null
  searchTerm: string | null
  parentId: string | null
  includedIds: readonly string[] | null
  excludedIds: readonly string[] | null
}

export interface PageQuery {
  descending: boolean
  after: number | null
  limit: number
  turnId?: string
}

/** Owned by the thread store, which closes it. All calls are synchronous and short. */
export class ThreadIndex {
  private readonly statements = new Map<string, SqlStatement>()

  private constructor(
    private readonly db: SqlDatabase,
    /** Nothing was in the index when it was opened: it has to be built from the files. */
    readonly fresh: boolean,
  ) {}

  /** Opens the index; one of another version, or one that is no database, is replaced by an empty one. */
  static open(path: string, discard: (path: string) => void): ThreadIndex {
    try {
      return ThreadIndex.tryOpen(path)
    } catch (error) {
      if ((error as Error).name === 'SqliteMissing') throw error
      discard(path)
      return ThreadIndex.tryOpen(path)
    }
  }

  private static tryOpen(path: string): ThreadIndex {
    const db = openSqlite(path)
    // The files are the truth, so the index need not survive a power cut, only a crash.
    db.exec(
      'pragma journal_mode = wal; pragma synchronous = off; pragma busy_timeout = 5000; pragma cache_size = -4000',
    )
    const version = Number(db.prepare('pragma user_version').get()?.user_version ?? 0)
    if (version !== 0 && version !== INDEX_VERSION) {
      db.close()
      throw new Error(`thread index version ${version}`)
    }
    if (version === 0) db.exec(`${SCHEMA} pragma user_version = ${INDEX_VERSION}`)
    return new ThreadIndex(db, version === 0)
  }

  /** All or nothing, and much faster than one by one. */
  transaction(work: () => void): void {
    this.db.exec('begin immediate')
    try {
      work()
      this.db.exec('commit')
    } catch (error) {
      this.db.exec('rollback')
      throw error
    }
  }

  putThread(row: ThreadRow): void {
    const { thread } = row
    const rest = {
      reasoningEffort: thread.reasoningEffort,
      threadSource: thread.threadSource,
      cliVersion: thread.cliVersion,
      historyMode: thread.historyMode,
      forkedFromId: thread.forkedFromId,
      gitInfo: thread.gitInfo,
      base: thread.base,
    }
    this.sql(`insert or replace into threads values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`).run(
      thread.id,
      thread.sessionId,
      thread.path,
      thread.archived ? 1 : 0,
      thread.createdAtMs,
      thread.updatedAtMs,
      thread.preview,
      thread.name,
      thread.cwd,
      thread.modelProvider,
      thread.model,
      sourceKind(thread.source),
      thread.originator,
      thread.parentThreadId,
      thread.projectId,
      JSON.stringify({ ...rest, source: thread.source }),
      row.turnContext ? JSON.stringify(row.turnContext) : null,
      row.extras ? JSON.stringify(row.extras) : null,
      row.indexedBytes,
      row.nextOrdinal,
    )
  }

  thread(id: string): ThreadRow | null {
    const row = this.sql('select * from threads where id = ?').get(id)
    return row ? threadRow(row) : null
  }

  threadAt(path: string): ThreadRow | null {
    const row = this.sql('select * from threads where path = ?').get(path)
    return row ? threadRow(row) : null
  }

  /** Every indexed file with how far it was read. */
  indexedFiles(): Map<string, number> {
    return new Map(
      this.sql('select path, indexed_bytes from threads')
        .all()
        .map((r) => [String(r.path), Number(r.indexed_bytes)]),
    )
  }

  putTurn(threadId: string, turn: IndexedTurn): void {
    this.sql('insert or replace into turns values (?,?,?,?,?,?,?,?,?)').run(
      threadId,
      turn.ordinal,
      turn.turnId,
      turn.rootTurnId,
      turn.status,
      turn.startedAt,
      turn.completedAt,
      turn.durationMs,
      turn.error ? JSON.stringify(turn.error) : null,
    )
  }

  endTurn(
    threadId: string,
    turnId: string,
    end: Pick<IndexedTurn, 'status' | 'completedAt' | 'durationMs' | 'error'>,
  ): void {
    this.sql('update turns set status=?, completed_at=?, duration_ms=?, error=? where thread_id=? and turn_id=?').run(
      end.status,
      end.completedAt,
      end.durationMs,
      end.error ? JSON.stringify(end.error) : null,
      threadId,
      turnId,
    )
  }

  putItem(threadId: string, item: IndexedItem): void {
    this.sql('delete from items where thread_id=? and turn_id=? and item_id=?').run(threadId, item.turnId, item.itemId)
    this.sql('insert or replace into items values (?,?,?,?,?,?,?)').run(
      threadId,
      item.ordinal,
      item.turnId,
      item.itemId,
      item.kind,
      item.offset,
      item.length,
    )
  }

  /** Turns in the order asked for, strictly behind ordinal `after`. */
  turns(threadId: string, page: PageQuery): IndexedTurn[] {
    return this.page('turns', threadId, page).map((row) => ({
      ordinal: Number(row.ordinal),
      turnId: String(row.turn_id),
      rootTurnId: String(row.root_turn_id),
      status: row.status as IndexedTurn['status'],
      startedAt: row.started_at as number | null,
      completedAt: row.completed_at as number | null,
      durationMs: row.duration_ms as number | null,
      error: row.error === null ? null : JSON.parse(String(row.error)),
    }))
  }

  /** Items in the order asked for, strictly behind ordinal `after`, of one turn or all. */
  items(threadId: string, page: PageQuery): IndexedItem[] {
    return this.page('items', threadId, page).map(indexedItem)
  }

  /** Whether an item of the thread stands at this ordinal. */
  hasItem(threadId: string, ordinal: number): boolean {
    return this.sql('select 1 from items where thread_id = ? and ordinal = ?').get(threadId, ordinal) !== undefined
  }

  itemsOfTurns(threadId: string, turnIds: readonly string[]): IndexedItem[] {
    const marks = turnIds.map(() => '?').join(',')
    return this.db
      .prepare(`select * from items where thread_id = ? and turn_id in (${marks}) order by ordinal`)
      .all(threadId, ...turnIds)
      .map(indexedItem)
  }

  /** Ordinals of the newest turns that a person's message started. */
  newestUserTurns(threadId: string, count: number): number[] {
    return this.sql(
      `select ordinal from turns t where thread_id = ? and exists
       (select 1 from items i where i.thread_id = t.thread_id and i.turn_id = t.turn_id and i.kind = 'userMessage')
       order by ordinal desc limit ?`,
    )
      .all(threadId, count)
      .map((row) => Number(row.ordinal))
  }

  turnOrdinal(threadId: string, turnId: string): number | null {
    const row = this.sql('select ordinal from turns where thread_id = ? and turn_id = ?').get(threadId, turnId)
    return row ? Number(row.ordinal) : null
  }

  /** Forgets turns and items from an ordinal on (a rollback or revert took them away). */
  cut(threadId: string, fromOrdinal: number): void {
    this.sql('delete from turns where thread_id=? and ordinal>=?').run(threadId, fromOrdinal)
    this.sql('delete from items where thread_id=? and ordinal>=?').run(threadId, fromOrdinal)
  }

  remove(threadId: string): void {
    this.sql('delete from threads where id=?').run(threadId)
    this.cut(threadId, 0)
  }

  list(query: ThreadQuery): StoredThread[] {
    const { where, values } = conditions(query)
    const column = query.sort === 'created_at' ? 'created_at' : 'updated_at'
    const direction = query.descending ? 'desc' : 'asc'
    return this.db
      .prepare(
        `select * from threads where ${where.join(' and ')} order by ${column} ${direction}, id ${direction} limit ?`,
      )
      .all(...values, query.limit)
      .map((row) => threadRow(row).thread)
  }

  close(): void {
    this.statements.clear()
    this.db.exec('pragma wal_checkpoint(truncate)')
    this.db.close()
  }

  private page(table: 'turns' | 'items', threadId: string, page: PageQuery): Record<string, SqlValue>[] {
    const where = ['thread_id = ?']
    const values: SqlValue[] = [threadId]
    if (page.turnId !== undefined) {
      where.push('turn_id = ?')
      values.push(page.turnId)
    }
    if (page.after !== null) {
      where.push(page.descending ? 'ordinal < ?' : 'ordinal > ?')
      values.push(page.after)
    }
    return this.sql(
      `select * from ${table} where ${where.join(' and ')} order by ordinal ${page.descending ? 'desc' : 'asc'} limit ?`,
    ).all(...values, page.limit)
  }

  private sql(text: string): SqlStatement {
    let statement = this.statements.get(text)
    if (!statement) this.statements.set(text, (statement = this.db.prepare(text)))
    return statement
  }
}

function conditions(query: ThreadQuery): { where: string[]; values: SqlValue[] } {
  const where = ['archived = ?']
  const values: SqlValue[] = [query.archived ? 1 : 0]
  const among = (column: string, list: readonly string[] | null, not = '') => {
    if (list === null) return
    where.push(`${column} ${not} in (${list.map(() => '?').join(',')})`)
    values.push(...list)
  }
  among('model_provider', query.modelProviders)
  among('source', query.sources)
  among('cwd', query.cwds)
  among('id', query.includedIds)
  among('id', query.excludedIds, 'not')
  if (query.parentId !== null) {
    where.push('parent_id = ?')
    values.push(query.parentId)
  }
  if (query.searchTerm !== null && query.searchTerm.trim() !== '') {
    where.push(`(preview like ? escape '\\' or name like ? escape '\\')`)
    const pattern = `%${query.searchTerm.replaceAll(/[\\%_]/g, (c) => `\\${c}`)}%`
    values.push(pattern, pattern)
  }
  if (query.after) {
    const column = query.sort === 'created_at' ? 'created_at' : 'updated_at'
    const than = query.descending ? '<' : '>'
    where.push(`(${column} ${than} ? or (${column} = ? and id ${than} ?))`)
    values.push(query.after.atMs, query.after.atMs, query.after.id)
  }
  return { where, values }
}

/** The word a filter compares: custom and sub-agent sources count as their kind. */
export function sourceKind(source: ThreadSource): string {
  if (typeof source === 'string') return source
  return 'custom' in source ? 'custom' : 'subAgent'
}

function indexedItem(row: Record<string, SqlValue>): IndexedItem {
  return {
    ordinal: Number(row.ordinal),
    turnId: String(row.turn_id),
    itemId: String(row.item_id),
    kind: String(row.kind),
    offset: Number(row.offset),
    length: Number(row.length),
  }
}

function threadRow(row: Record<string, SqlValue>): ThreadRow {
  const rest = JSON.parse(String(row.rest)) as Pick<
    StoredThread,
    'reasoningEffort' | 'threadSource' | 'cliVersion' | 'historyMode' | 'forkedFromId' | 'gitInfo' | 'source'
  > & { base: HistoryBase | null }
  return {
    thread: {
      ...rest,
      id: String(row.id),
      sessionId: String(row.session_id),
      path: String(row.path),
      archived: row.archived === 1,
      createdAtMs: Number(row.created_at),
      updatedAtMs: Number(row.updated_at),
      preview: String(row.preview),
      name: row.name as string | null,
      cwd: String(row.cwd),
      modelProvider: String(row.model_provider),
      model: row.model as string | null,
      originator: row.originator as string | null,
      parentThreadId: row.parent_id as string | null,
      projectId: row.project_id as string | null,
    },
    turnContext: row.turn_context === null ? null : (JSON.parse(String(row.turn_context)) as RecordPayload),
    extras: row.extras === null ? null : (JSON.parse(String(row.extras)) as RecordPayload),
    indexedBytes: Number(row.indexed_bytes),
    nextOrdinal: Number(row.next_ordinal),
  }
}
