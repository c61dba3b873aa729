/** Turns and items of threads on disk, a page at a time, and the words in them. */
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'
import type { Turn } from '../../protocol/app-server/thread.ts'
import type { IndexedItem, IndexedTurn } from './indexed-history.ts'
import { itemFromCodex } from './item-from-codex.ts'
import { readCursor, writeCursor } from './page-cursor.ts'
import { readSpans } from './read-spans.ts'
import { readLines } from './rollout-lines.ts'
import { parseLine } from './rollout-record.ts'
import { lineFilter, snippetOf, type FoundItem } from './search-items.ts'
import type { StoredThread } from './stored-thread.ts'
import type { ThreadIndex } from './thread-index.ts'

const MAX_FOUND = 500

export interface StoredItem {
  turnId: string
  item: ThreadItem
}
export interface Page<T> {
  data: T[]
  nextCursor: string | null
  backwardsCursor: string | null
}
export interface PageRequest {
  cursor: string | null
  limit: number
  descending: boolean
}

/** Owned by the thread store. */
export class ThreadPages {
  /** Turns of threads that build on others (forks), which the index cannot page; newest kept. */
  private readonly chained = new Map<string, { bytes: number; turns: Turn[] }>()

  constructor(
    private readonly from: {
      index: () => ThreadIndex
      /** All turns of a thread, with their items. */
      read: (thread: StoredThread) => Promise<Turn[]>
    },
  ) {}

  /** A page of turns; `view` tells how many of their items come along. */
  async turns(thread: StoredThread, request: PageRequest, view: 'notLoaded' | 'summary' | 'full'): Promise<Page<Turn>> {
    if (thread.base) return pageOf(await this.chainedTurns(thread), request, 'turns', (turn) => withView(turn, view))
    const after = request.cursor === null ? null : Number(readCursor(request.cursor, 'turns', 1)[0])
    const found = this.index.history.turns(thread.id, {
      descending: request.descending,
      after,
      limit: request.limit + 1,
    })
    const turns = found.slice(0, request.limit)
    const items =
      view === 'notLoaded'
        ? []
        : this.index.history.itemsOfTurns(
            thread.id,
            turns.map((turn) => turn.turnId),
          )
    const loaded = this.loadItems(thread, view === 'full' ? items : summaryOf(items))
    const data = turns.map((turn) =>
      turnOf(
        turn,
        loaded.filter((item) => item.turnId === turn.turnId).map(({ item }) => item),
        view,
      ),
    )
    return { data, ...cursors('turns', found.length > request.limit, turns, request.descending) }
  }

  /** A page of items, of one turn or of all. */
  async items(thread: StoredThread, request: PageRequest, turnId?: string): Promise<Page<StoredItem>> {
    if (thread.base) {
      const turns = await this.chainedTurns(thread)
      const all = turns.flatMap((turn) =>
        turnId === undefined || turn.id === turnId ? turn.items.map((item) => ({ turnId: turn.id, item })) : [],
      )
      return pageOf(all, request, 'items', (item) => item)
    }
    const after = request.cursor === null ? null : Number(readCursor(request.cursor, 'items', 1)[0])
    const page = {
      descending: request.descending,
      after,
      limit: request.limit + 1,
      ...(turnId === undefined ? {} : { turnId }),
    }
    const found = this.index.history.items(thread.id, page)
    const rows = found.slice(0, request.limit)
    return {
      data: this.loadItems(thread, rows),
      ...cursors('items', found.length > request.limit, rows, request.descending),
    }
  }

  /** The cursor of pages of one turn's items that begin behind an item of it; null when it is not there. */
  async itemCursor(thread: StoredThread, turnId: string, itemId: string): Promise<string | null> {
    if (!thread.base) {
      const ordinal = this.index.history.itemOrdinal(thread.id, turnId, itemId)
      return ordinal === null ? null : writeCursor('items', [ordinal])
    }
    const turn = (await this.chainedTurns(thread)).find(({ id }) => id === turnId)
    const place = turn?.items.findIndex(({ id }) => id === itemId) ?? -1
    return place === -1 ? null : writeCursor('items', [place])
  }

  /** Items that contain the words, oldest first; of more than MAX_FOUND the newest ones. */
  async search(thread: StoredThread, term: string): Promise<{ data: FoundItem[]; isComplete: boolean }> {
    const found: FoundItem[] = []
    const note = (item: ThreadItem, place: number): void => {
      const snippet = snippetOf(item, term)
      if (snippet !== null) found.push({ itemId: item.id, cursor: writeCursor('items', [place - 0.5]), snippet })
    }
    if (thread.base) {
      const items = (await this.chainedTurns(thread)).flatMap((turn) => turn.items)
      for (const [place, item] of items.entries()) note(item, place)
    } else {
      const isCandidate = lineFilter(term)
      for await (const lines of readLines(thread.path))
        for (const { text } of lines) {
          if (text === null || !text.includes('item_completed') || !isCandidate(text)) continue
          const ordinal = parseLine(text).records.at(-1)?.ordinal
          const item = itemOf(text)
          // What was taken back stands in the file all the same.
          if (item && ordinal !== undefined && this.index.history.hasItem(thread.id, ordinal)) note(item, ordinal)
        }
    }
    return { data: found.slice(-MAX_FOUND), isComplete: found.length <= MAX_FOUND }
  }

  private get index(): ThreadIndex {
    return this.from.index()
  }

  private async chainedTurns(thread: StoredThread): Promise<Turn[]> {
    const bytes = this.index.thread(thread.id)?.indexedBytes ?? 0
    const kept = this.chained.get(thread.id)
    if (kept?.bytes === bytes) return kept.turns
    const turns = await this.from.read(thread)
    this.chained.clear()
    this.chained.set(thread.id, { bytes, turns })
    return turns
  }

  private loadItems(thread: StoredThread, rows: readonly IndexedItem[]): StoredItem[] {
    if (rows.length === 0) return []
    const texts = readSpans(thread.path, rows)
    return rows
      .map((row, i) => ({ turnId: row.turnId, item: itemOf(texts[i]!) }))
      .filter((entry): entry is StoredItem => entry.item !== null)
  }
}

function itemOf(line: string): ThreadItem | null {
  const record = parseLine(line).records.at(-1)
  const stored = record?.payload.item as Record<string, unknown> | undefined
  if (!stored || typeof stored.type !== 'string') return null
  const item = stored.type.charCodeAt(0) < 0x61 ? itemFromCodex(stored) : (stored as unknown as ThreadItem)
  if (item) {
    item.startedAtMs ??= (record!.payload.started_at_ms as number | undefined) ?? null
    item.completedAtMs ??= (record!.payload.completed_at_ms as number | undefined) ?? null
  }
  return item
}

/** The person's messages and the last message of the agent of each turn. */
function summaryOf(items: readonly IndexedItem[]): IndexedItem[] {
  const last = new Map<string, number>()
  for (const item of items) if (item.kind === 'agentMessage') last.set(item.turnId, item.ordinal)
  return items.filter((item) => item.kind === 'userMessage' || last.get(item.turnId) === item.ordinal)
}

function withView(turn: Turn, view: 'notLoaded' | 'summary' | 'full'): Turn {
  if (view === 'full') return turn
  const lastMessage = turn.items.findLast((item) => item.type === 'agentMessage')
  const items =
    view === 'notLoaded' ? [] : turn.items.filter((item) => item.type === 'userMessage' || item === lastMessage)
  return { ...turn, items, itemsView: view }
}

function turnOf(turn: IndexedTurn, items: ThreadItem[], view: 'notLoaded' | 'summary' | 'full'): Turn {
  return {
    id: turn.turnId,
    rootTurnId: turn.rootTurnId,
    items,
    itemsView: view,
    status: turn.status,
    error: turn.error as Turn['error'],
    startedAt: turn.startedAt,
    completedAt: turn.completedAt,
    durationMs: turn.durationMs,
  }
}

/**
 * `backwardsCursor` stands between the first row and what comes before it in the order asked for: read
 * on in the same direction it gives the page again, in the other one it gives what is new.
 */
function cursors(
  list: string,
  more: boolean,
  rows: readonly { ordinal: number }[],
  descending: boolean,
): { nextCursor: string | null; backwardsCursor: string | null } {
  return {
    nextCursor: more ? writeCursor(list, [rows.at(-1)!.ordinal]) : null,
    backwardsCursor: rows.length > 0 ? writeCursor(list, [rows[0]!.ordinal + (descending ? 0.5 : -0.5)]) : null,
  }
}

/** A page of something held in memory; the cursor is the place in oldest-first order. */
function pageOf<T, R>(all: readonly T[], request: PageRequest, list: string, view: (value: T) => R): Page<R> {
  const after = request.cursor === null ? null : Number(readCursor(request.cursor, list, 1)[0])
  const start = request.descending ? Math.ceil(after ?? all.length) - 1 : Math.floor(after ?? -1) + 1
  const count = request.descending ? start + 1 : all.length - start
  const indices = Array.from({ length: Math.max(0, count) }, (_, i) => (request.descending ? start - i : start + i))
  const taken = indices.slice(0, request.limit)
  return {
    data: taken.map((i) => view(all[i]!)),
    nextCursor: indices.length > taken.length ? writeCursor(list, [taken.at(-1)!]) : null,
    backwardsCursor: taken.length > 0 ? writeCursor(list, [taken[0]! + (request.descending ? 0.5 : -0.5)]) : null,
  }
}
