/**
 * The index of threads, turns and items in one SQLite file. It answers lists and pages without reading
 * rollout files; it may be deleted at any time, since everything in it stands in those files too.
 */
import { rmSync } from 'node:fs'
import type { ThreadSource } from '../../protocol/app-server/thread.ts'
import type { RecordPayload } from './rollout-record.ts'
import { openSqlite, type SqlDatabase, type SqlStatement, type SqlValue } from './sqlite.ts'
import { agentOf, type StoredThread } from './stored-thread.ts'

/** Raised when a table changes; an index of another version is thrown away and built again. */
const INDEX_VERSION = 4

const SCHEMA = `
create table if not exists threads (
  id text primary key, path text, archived integer, created_at integer, updated_at integer, cwd text,
  model_provider text, source text, parent_id text, words text, indexed_bytes integer, next_ordinal integer,
  thread text
) without rowid;
create index if not exists threads_by_update on threads (archived, updated_at, id);
create index if not exists threads_by_creation on threads (archived, created_at, id);
create index if not exists threads_by_path on threads (path);
create index if not exists threads_by_parent on threads (parent_id) where parent_id is not null;
create table if not exists facts (name text primary key, value) without rowid;
create table if not exists thread_states (thread_id text primary key, turn_context text, extras text) without rowid;
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

const ROW = 'select threads.*, turn_context, extras from threads left join thread_states on thread_id = id'
/** Ids of all threads below one. */
const DESCENDANTS =
  'with recursive below (id) as (select id from threads where parent_id = ? union select t.id from threads t join below on t.parent_id = below.id) select id from below'
/** Prepared statements kept. */
const MAX_STATEMENTS = 200

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
  /** Children of this thread. */
  parentId: string | null
  /** Children of this thread, and theirs. */
  ancestorId: string | null
  originators: readonly string[] | null
  projectId: string | null
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
    /** All files were read into it once; otherwise it has to be built from them. */
    private built: boolean,
  ) {}

  /**
   * Opens the index; one of another version is replaced by an empty one, and so is one that is no
   * database, which `discard` has to move away first.
   */
  static open(path: string, discard: (path: string) => void): ThreadIndex {
    try {
      return ThreadIndex.tryOpen(path) ?? ThreadIndex.afterDelete(path)
    } catch (error) {
      if ((error as Error).name === 'SqliteMissing') throw error
      discard(path)
      return ThreadIndex.afterDelete(path)
    }
  }

  /** What is left of a database's log would be read into the new one. */
  private static afterDelete(path: string): ThreadIndex {
    for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    const index = ThreadIndex.tryOpen(path)
    if (!index) throw new Error(`${path} is being made anew by another version of this program`)
    return index
  }

  /** Null for an index of another version. */
  private static tryOpen(path: string): ThreadIndex | null {
    const db = openSqlite(path)
    try {
      // The files are the truth, so the index need not survive a power cut, only a crash.
      db.exec(
        'pragma busy_timeout = 5000; pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -4000',
      )
      const version = Number(db.prepare('pragma user_version').get()?.user_version ?? 0)
      if (version === 0) db.exec(`begin immediate; ${SCHEMA} pragma user_version = ${INDEX_VERSION}; commit`)
      else if (version !== INDEX_VERSION) {
        db.close()
        return null
      }
      const built = db.prepare(`select 1 from facts where name = 'built'`).get() !== undefined
      return new ThreadIndex(db, built)
    } catch (error) {
      db.close()
      throw error
    }
  }

  get isBuilt(): boolean {
    return this.built
  }

  /** Remembers, also for the next start, that all files were read. */
  markBuilt(): void {
    if (this.built) return
    this.sql(`insert or replace into facts values ('built', 1)`).run()
    this.built = true
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

  putThread({ thread, indexedBytes, nextOrdinal }: ThreadRow): void {
    this.sql(`insert or replace into threads values (?,?,?,?,?,?,?,?,?,?,?,?,?)`).run(
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
    this.sql('insert or replace into thread_states values (?,?,?)').run(
      threadId,
      turnContext ? JSON.stringify(turnContext) : null,
      extras ? JSON.stringify(extras) : null,
    )
  }

  thread(id: string): ThreadRow | null {
    const row = this.sql(`${ROW} where id = ?`).get(id)
    return row ? threadRow(row) : null
  }

  threadAt(path: string): ThreadRow | null {
    const row = this.sql(`${ROW} where path = ?`).get(path)
    return row ? threadRow(row) : null
  }

  /** Ids of all threads below one, nearest first. */
  descendants(id: string): string[] {
    return this.sql(DESCENDANTS)
      .all(id)
      .map((row) => String(row.id))
  }

  /** How far each file was read, for paths from the first (with it) up to the second (without it). */
  filesBetween(from: string, below: string): Map<string, number> {
    const rows = this.sql('select path, indexed_bytes from threads where path >= ? and path < ?').all(from, below)
    return new Map(rows.map((row) => [String(row.path), Number(row.indexed_bytes)]))
  }

  /** Paths of indexed files in order, behind one of them. */
  pathsAfter(after: string, limit: number): string[] {
    return this.sql('select path from threads where path > ? order by path limit ?')
      .all(after, limit)
      .map((row) => String(row.path))
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

  /** Ids of a turn's items. Left to itself SQLite goes through all items of the thread, for each of its turns. */
  itemIds(threadId: string, turnId: string): Set<string> {
    const byTurn = 'select item_id from items indexed by items_by_turn where thread_id=? and turn_id=?'
    const rows = this.sql(byTurn).all(threadId, turnId)
    return new Set(rows.map((row) => String(row.item_id)))
  }

  /** Takes away an item that a later record tells anew. */
  dropItem(threadId: string, turnId: string, itemId: string): void {
    this.sql('delete from items indexed by items_by_turn where thread_id=? and turn_id=? and item_id=?').run(
      threadId,
      turnId,
      itemId,
    )
  }

  putItem(threadId: string, item: IndexedItem): void {
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

  itemOrdinal(threadId: string, turnId: string, itemId: string): number | null {
    const text = 'select ordinal from items indexed by items_by_turn where thread_id=? and turn_id=? and item_id=?'
    const row = this.sql(text).get(threadId, turnId, itemId)
    return row ? Number(row.ordinal) : null
  }

  itemsOfTurns(threadId: string, turnIds: readonly string[]): IndexedItem[] {
    return this.sql(`select * from items where thread_id = ? and turn_id in (${marks(turnIds)}) order by ordinal`)
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
    this.sql('delete from thread_states where thread_id=?').run(threadId)
    this.cut(threadId, 0)
  }

  list(query: ThreadQuery): StoredThread[] {
    const { where, values } = conditions(query)
    const column = query.sort === 'created_at' ? 'created_at' : 'updated_at'
    const direction = query.descending ? 'desc' : 'asc'
    return this.sql(
      `select thread from threads where ${where.join(' and ')} order by ${column} ${direction}, id ${direction} limit ?`,
    )
      .all(...values, query.limit)
      .map((row) => JSON.parse(String(row.thread)) as StoredThread)
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
    if (!statement) {
      // Texts differ by the number of their values, so a client could make any number of them.
      if (this.statements.size >= MAX_STATEMENTS) this.statements.clear()
      this.statements.set(text, (statement = this.db.prepare(text)))
    }
    return statement
  }
}

function conditions(query: ThreadQuery): { where: string[]; values: SqlValue[] } {
  const where = ['archived = ?']
  const values: SqlValue[] = [query.archived ? 1 : 0]
  const among = (column: string, list: readonly string[] | null, not = '') => {
    if (list === null) return
    where.push(`${column} ${not} in (${marks(list)})`)
    values.push(...list)
  }
  among('model_provider', query.modelProviders)
  among('source', query.sources && query.sources.flatMap(kindsOf))
  among('cwd', query.cwds)
  among(`json_extract(thread, '$.originator')`, query.originators)
  among('id', query.includedIds)
  among('id', query.excludedIds, 'not')
  if (query.parentId !== null) {
    where.push('parent_id = ?')
    values.push(query.parentId)
  }
  if (query.projectId !== null) {
    where.push(`json_extract(thread, '$.projectId') = ?`)
    values.push(query.projectId)
  }
  if (query.ancestorId !== null) {
    where.push(`id in (${DESCENDANTS})`)
    values.push(query.ancestorId)
  }
  const words = searchable(query.searchTerm ?? '').trim()
  if (words !== '') {
    where.push('instr(words, ?) > 0')
    values.push(words)
  }
  if (query.after) {
    const column = query.sort === 'created_at' ? 'created_at' : 'updated_at'
    where.push(`(${column}, id) ${query.descending ? '<' : '>'} (?, ?)`)
    values.push(query.after.atMs, query.after.id)
  }
  return { where, values }
}

const AGENT_KINDS = ['subAgentThreadSpawn', 'subAgentReview', 'subAgentCompact', 'subAgentOther']

/** The kinds that a filter's word means. */
const kindsOf = (word: string): string[] => (word === 'subAgent' ? AGENT_KINDS : [word])

/** The word a filter compares: custom and sub-agent sources count as their kind. */
export function sourceKind(source: ThreadSource): string {
  if (typeof source === 'string') return source
  if ('custom' in source) return 'custom'
  if (agentOf(source)) return 'subAgentThreadSpawn'
  if (source.subAgent === 'review') return 'subAgentReview'
  return source.subAgent === 'compact' ? 'subAgentCompact' : 'subAgentOther'
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

/** Upper and lower case are one to a search, in any script; so are the ways to compose a letter. */
function searchable(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

const marks = (values: readonly unknown[]): string => values.map(() => '?').join(',')
