/**
 * All threads on disk below one home folder: rollout files (the truth) and their index.
 *
 * Owned by the server. Nothing is opened before it is needed, so that starting costs nothing.
 */
import { mkdir, rename, rm } from 'node:fs/promises'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'
import type { Turn } from '../../protocol/app-server/thread.ts'
import { indexFile, indexFiles } from './index-files.ts'
import { itemFromCodex } from './item-from-codex.ts'
import { readCursor, writeCursor } from './page-cursor.ts'
import { readSpans } from './read-spans.ts'
import { readThread, type ReadThread, type Wanted } from './read-thread.ts'
import { readTurnTexts, type TurnText } from './read-turn-texts.ts'
import { threadFromMeta } from './rollout-indexer.ts'
import { ARCHIVE_FOLDER, rolloutPath } from './rollout-path.ts'
import { readLines } from './rollout-lines.ts'
import { parseLine, type RecordPayload } from './rollout-record.ts'
import type { HistoryBase, StoredThread } from './stored-thread.ts'
import { lineFilter, snippetOf, type FoundItem } from './search-items.ts'
import { ThreadIndex, type IndexedItem, type IndexedTurn, type ThreadQuery, type ThreadRow } from './thread-index.ts'
import { ThreadLog } from './thread-log.ts'
import { acquireWriterLock } from './writer-lock.ts'

/** There is no such thread on disk. */
export class ThreadMissing extends Error {
  override readonly name = 'ThreadMissing'
  constructor(readonly threadId: string) {
    super(`no rollout found for thread id ${threadId}`)
  }
}

const MAX_FOUND = 500

/** What other programs added to the folder shows in lists after this long at the latest. */
const RESCAN_MS = 10_000
/** A client that has just got its first list asks for more; the look at the files can wait that long. */
const SCAN_DELAY_MS = 1_000
const INDEX_FILE = 'thread-index.sqlite'

export interface ThreadStoreOptions {
  home: string
  nowMs?: () => number
  onProblem?: (message: string) => void
  /** How long after a list the files are looked at; default one second. */
  scanDelayMs?: number
}

export interface ListedThreads {
  threads: StoredThread[]
  nextCursor: string | null
  /** Lists what is newer than this page, in the other direction. */
  backwardsCursor: string | null
}
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

export class ThreadStore {
  private readonly nowMs: () => number
  private openIndex: ThreadIndex | null = null
  private scan: Promise<void> | null = null
  private scanTimer: NodeJS.Timeout | null = null
  private scannedAtMs = Number.NEGATIVE_INFINITY
  private readonly closing = new AbortController()
  private readonly logs = new Set<ThreadLog>()
  /** Turns of threads that build on others (forks), which the index cannot page; newest kept. */
  private readonly chained = new Map<string, { bytes: number; turns: Turn[] }>()

  constructor(private readonly options: ThreadStoreOptions) {
    this.nowMs = options.nowMs ?? Date.now
  }

  /**
   * Opens the index now, so that the first list does not wait for it. Without one this does nothing;
   * what fails here fails, and is told, when the index is needed.
   */
  warmUp(): void {
    if (!existsSync(join(this.options.home, INDEX_FILE))) return
    try {
      void this.index
    } catch {
      // Told with the first request that needs it.
    }
  }

  /** A new thread; nothing reaches the disk before its first flush. `meta` is the `session_meta` payload. */
  create(meta: RecordPayload & { id: string }): ThreadLog {
    const path = rolloutPath(this.options.home, meta.id, new Date(this.nowMs()))
    const thread = threadFromMeta(meta, path, false, this.nowMs())
    const log = this.openLog(
      { thread, turnContext: null, extras: null, indexedBytes: 0, nextOrdinal: thread.base?.endOrdinal ?? 0 },
      null,
    )
    log.append('session_meta', meta)
    return log
  }

  /** Opens a thread for writing. @throws ThreadMissing, ThreadInUse */
  async open(threadId: string): Promise<{ log: ThreadLog; turnContext: RecordPayload | null }> {
    const known = await this.find(threadId)
    if (!known) throw new ThreadMissing(threadId)
    const lock = await acquireWriterLock(this.lockFolder, threadId)
    try {
      const row =
        (await indexFile(known.thread.path, known.thread.archived, { index: this.index, nowMs: this.nowMs })) ?? known
      return { log: this.openLog(row, lock), turnContext: row.turnContext }
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /** Knows a thread by id: from the index, after a look at the files where the index does not know it. */
  async find(threadId: string): Promise<ThreadRow | null> {
    const row = this.index.thread(threadId)
    if (row) return row
    await this.scanFiles()
    return this.index.thread(threadId)
  }

  /** Ids of the child agents of a thread, and of theirs, as far as files of theirs are known. */
  async descendants(threadId: string): Promise<string[]> {
    await this.readyForLists()
    return this.index.descendants(threadId)
  }

  /** The newest record of what is kept with a thread. */
  extras(threadId: string): RecordPayload | null {
    return this.index.thread(threadId)?.extras ?? null
  }

  /** Knows a thread by its rollout file, which may stand anywhere. */
  async findByPath(path: string): Promise<ThreadRow | null> {
    return (
      this.index.threadAt(path) ??
      (await indexFile(path, basename(dirname(path)) === ARCHIVE_FOLDER, { index: this.index, nowMs: this.nowMs }))
    )
  }

  /** Turns with full items, the model's history, or both. */
  read(thread: StoredThread, wanted: Wanted): Promise<ReadThread> {
    return readThread(thread, (base) => this.basePath(base), wanted)
  }

  /** Turns with full items, as text for an answer. */
  turnTexts(thread: StoredThread): Promise<TurnText[]> {
    return readTurnTexts(thread, (base) => this.basePath(base))
  }

  async list(query: Omit<ThreadQuery, 'after'>, cursor: string | null): Promise<ListedThreads> {
    await this.readyForLists()
    const after = cursor === null ? null : readCursor(cursor, 'threads', 2)
    const rows = this.index.list({
      ...query,
      limit: query.limit + 1,
      after: after && { atMs: Number(after[0]), id: String(after[1]) },
    })
    const threads = rows.slice(0, query.limit)
    const place = (thread: StoredThread | undefined): string | null =>
      thread
        ? writeCursor('threads', [query.sort === 'created_at' ? thread.createdAtMs : thread.updatedAtMs, thread.id])
        : null
    return {
      threads,
      nextCursor: rows.length > query.limit ? place(threads.at(-1)) : null,
      backwardsCursor: place(threads[0]),
    }
  }

  /** A page of turns; `view` tells how many of their items come along. */
  async turns(thread: StoredThread, request: PageRequest, view: 'notLoaded' | 'summary' | 'full'): Promise<Page<Turn>> {
    if (thread.base) return pageOf(await this.chainedTurns(thread), request, 'turns', (turn) => withView(turn, view))
    const after = request.cursor === null ? null : Number(readCursor(request.cursor, 'turns', 1)[0])
    const found = this.index.turns(thread.id, { descending: request.descending, after, limit: request.limit + 1 })
    const turns = found.slice(0, request.limit)
    const items =
      view === 'notLoaded'
        ? []
        : this.index.itemsOfTurns(
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
    const found = this.index.items(thread.id, page)
    const rows = found.slice(0, request.limit)
    return {
      data: this.loadItems(thread, rows),
      ...cursors('items', found.length > request.limit, rows, request.descending),
    }
  }

  /** The cursor of pages of one turn's items that begin behind an item of it; null when it is not there. */
  async itemCursor(thread: StoredThread, turnId: string, itemId: string): Promise<string | null> {
    if (!thread.base) {
      const ordinal = this.index.itemOrdinal(thread.id, turnId, itemId)
      return ordinal === null ? null : writeCursor('items', [ordinal])
    }
    const turn = (await this.chainedTurns(thread)).find(({ id }) => id === turnId)
    const place = turn?.items.findIndex(({ id }) => id === itemId) ?? -1
    return place === -1 ? null : writeCursor('items', [place])
  }

  /** Items that contain the words, oldest first; of more than MAX_FOUND the newest ones. */
  async searchItems(thread: StoredThread, term: string): Promise<{ data: FoundItem[]; isComplete: boolean }> {
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
          if (item && ordinal !== undefined && this.index.hasItem(thread.id, ordinal)) note(item, ordinal)
        }
    }
    return { data: found.slice(-MAX_FOUND), isComplete: found.length <= MAX_FOUND }
  }

  /** Moves a thread's file to the archive, or back. The caller has closed its log. */
  async setArchived(threadId: string, archived: boolean): Promise<StoredThread> {
    const row = await this.find(threadId)
    if (!row) throw new ThreadMissing(threadId)
    if (row.thread.archived === archived) return row.thread
    const name = basename(row.thread.path)
    const target = archived
      ? join(this.options.home, ARCHIVE_FOLDER, name)
      : join(dirname(rolloutPath(this.options.home, threadId, new Date(row.thread.createdAtMs))), name)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    await rename(row.thread.path, target)
    row.thread.path = target
    row.thread.archived = archived
    this.index.putThread(row)
    return row.thread
  }

  /** Removes a thread's file and rows. The caller has closed its log. */
  async delete(threadId: string): Promise<void> {
    const row = await this.find(threadId)
    if (!row) throw new ThreadMissing(threadId)
    await rm(row.thread.path, { force: true })
    this.index.remove(threadId)
  }

  async close(): Promise<void> {
    this.closing.abort()
    if (this.scanTimer) clearTimeout(this.scanTimer)
    await Promise.allSettled([...this.logs].map((log) => log.close()))
    await this.scan
    this.openIndex?.close()
    this.openIndex = null
  }

  private get lockFolder(): string {
    return join(this.options.home, 'thread-writer-locks')
  }

  private get index(): ThreadIndex {
    if (this.openIndex) return this.openIndex
    mkdirSync(this.options.home, { recursive: true, mode: 0o700 })
    this.openIndex = ThreadIndex.open(join(this.options.home, INDEX_FILE), (path) => {
      const aside = `${path}.unreadable-${this.nowMs()}`
      renameSync(path, aside)
      this.options.onProblem?.(
        `${path} is not a readable thread index; it was kept as ${aside} and is built again from the rollout files`,
      )
    })
    return this.openIndex
  }

  private openLog(row: ThreadRow, lock: Awaited<ReturnType<typeof acquireWriterLock>> | null): ThreadLog {
    const log: ThreadLog = new ThreadLog({
      row,
      index: () => this.index,
      lockFolder: this.lockFolder,
      lock,
      nowMs: this.nowMs,
      onClosed: () => this.logs.delete(log),
    })
    this.logs.add(log)
    return log
  }

  /**
   * A new index is filled before the first list. A known one holds what this program wrote, here or in
   * another process; what others wrote is looked for behind the answer, once in a while.
   */
  private async readyForLists(): Promise<void> {
    if (!this.index.isBuilt) await (this.scan ??= this.scanNow())
    else if (!this.scan && !this.scanTimer && this.nowMs() - this.scannedAtMs >= RESCAN_MS) {
      this.scanTimer = setTimeout(() => this.scanBehind(), this.options.scanDelayMs ?? SCAN_DELAY_MS)
      this.scanTimer.unref()
    }
  }

  private scanBehind(): void {
    this.scanTimer = null
    this.scan ??= this.scanNow().catch((error: unknown) =>
      this.options.onProblem?.(`the thread index is not up to date: ${String(error)}`),
    )
  }

  private async scanFiles(): Promise<void> {
    // The one that runs may have passed the place of a new file.
    await this.scan
    await (this.scan ??= this.scanNow())
  }

  private async scanNow(): Promise<void> {
    try {
      const own = new Set([...this.logs].map((log) => log.thread.path))
      await indexFiles({
        home: this.options.home,
        index: this.index,
        nowMs: this.nowMs,
        isOwn: (path) => own.has(path),
        signal: this.closing.signal,
        onProblem: (path, error) =>
          this.options.onProblem?.(`${path} cannot be read: ${error.message}; it is left as it is`),
      })
      if (!this.closing.signal.aborted) this.index.markBuilt()
    } finally {
      this.scannedAtMs = this.nowMs()
      this.scan = null
    }
  }

  private async basePath(base: HistoryBase): Promise<string | null> {
    return base.path ?? (await this.find(base.threadId))?.thread.path ?? null
  }

  private async chainedTurns(thread: StoredThread): Promise<Turn[]> {
    const bytes = this.index.thread(thread.id)?.indexedBytes ?? 0
    const kept = this.chained.get(thread.id)
    if (kept?.bytes === bytes) return kept.turns
    const { turns } = (await this.read(thread, 'turns')).projection
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
