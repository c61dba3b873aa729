/** The turns and items of threads in the index: where they stand in their files, and in which order. */
import { marks, type IndexDatabase } from './index-database.ts'
import type { SqlValue } from './sqlite.ts'

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
export interface PageQuery {
  descending: boolean
  after: number | null
  limit: number
  turnId?: string
}

/** Owned by the thread index. All calls are synchronous and short. */
export class IndexedHistory {
  constructor(private readonly db: IndexDatabase) {}

  putTurn(threadId: string, turn: IndexedTurn): void {
    this.db
      .sql('insert or replace into turns values (?,?,?,?,?,?,?,?,?)')
      .run(
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
    this.db
      .sql('update turns set status=?, completed_at=?, duration_ms=?, error=? where thread_id=? and turn_id=?')
      .run(end.status, end.completedAt, end.durationMs, end.error ? JSON.stringify(end.error) : null, threadId, turnId)
  }

  /** Ids of a turn's items. Left to itself SQLite goes through all items of the thread, for each of its turns. */
  itemIds(threadId: string, turnId: string): Set<string> {
    const byTurn = 'select item_id from items indexed by items_by_turn where thread_id=? and turn_id=?'
    const rows = this.db.sql(byTurn).all(threadId, turnId)
    return new Set(rows.map((row) => String(row.item_id)))
  }

  /** Takes away an item that a later record tells anew. */
  dropItem(threadId: string, turnId: string, itemId: string): void {
    this.db
      .sql('delete from items indexed by items_by_turn where thread_id=? and turn_id=? and item_id=?')
      .run(threadId, turnId, itemId)
  }

  putItem(threadId: string, item: IndexedItem): void {
    this.db
      .sql('insert or replace into items values (?,?,?,?,?,?,?)')
      .run(threadId, item.ordinal, item.turnId, item.itemId, item.kind, item.offset, item.length)
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
    return this.db.sql('select 1 from items where thread_id = ? and ordinal = ?').get(threadId, ordinal) !== undefined
  }

  itemOrdinal(threadId: string, turnId: string, itemId: string): number | null {
    const text = 'select ordinal from items indexed by items_by_turn where thread_id=? and turn_id=? and item_id=?'
    const row = this.db.sql(text).get(threadId, turnId, itemId)
    return row ? Number(row.ordinal) : null
  }

  itemsOfTurns(threadId: string, turnIds: readonly string[]): IndexedItem[] {
    return this.db
      .sql(`select * from items where thread_id = ? and turn_id in (${marks(turnIds)}) order by ordinal`)
      .all(threadId, ...turnIds)
      .map(indexedItem)
  }

  /** Ordinals of the newest turns that a person's message started. */
  newestUserTurns(threadId: string, count: number): number[] {
    return this.db
      .sql(
        `select ordinal from turns t where thread_id = ? and exists
       (select 1 from items i where i.thread_id = t.thread_id and i.turn_id = t.turn_id and i.kind = 'userMessage')
       order by ordinal desc limit ?`,
      )
      .all(threadId, count)
      .map((row) => Number(row.ordinal))
  }

  turnOrdinal(threadId: string, turnId: string): number | null {
    const row = this.db.sql('select ordinal from turns where thread_id = ? and turn_id = ?').get(threadId, turnId)
    return row ? Number(row.ordinal) : null
  }

  /** Forgets turns and items from an ordinal on (a rollback or revert took them away). */
  cut(threadId: string, fromOrdinal: number): void {
    this.db.sql('delete from turns where thread_id=? and ordinal>=?').run(threadId, fromOrdinal)
    this.db.sql('delete from items where thread_id=? and ordinal>=?').run(threadId, fromOrdinal)
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
    return this.db
      .sql(
        `select * from ${table} where ${where.join(' and ')} order by ordinal ${page.descending ? 'desc' : 'asc'} limit ?`,
      )
      .all(...values, page.limit)
  }
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
