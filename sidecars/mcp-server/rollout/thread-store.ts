/**
 * All threads on disk below one home folder: rollout files (the truth) and their index.
 *
 * Owned by the server. Nothing is opened before it is needed, so that starting costs nothing.
 */
import { mkdir, rename, rm } from 'node:fs/promises'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { indexFile, indexFiles } from './index-files.ts'
import { readCursor, writeCursor } from './page-cursor.ts'
import { readThread, type ReadThread, type Wanted } from './read-thread.ts'
import { readTurnTexts, type TurnText } from './read-turn-texts.ts'
import { threadFromMeta } from './rollout-indexer.ts'
import { ARCHIVE_FOLDER, rolloutPath } from './rollout-path.ts'
import type { RecordPayload } from './rollout-record.ts'
import type { HistoryBase, StoredThread } from './stored-thread.ts'
import { ThreadIndex, type ThreadRow } from './thread-index.ts'
import { ThreadLog } from './thread-log.ts'
import { ThreadPages } from './thread-pages.ts'
import type { ThreadQuery } from './thread-query.ts'
import { acquireWriterLock } from './writer-lock.ts'

/** There is no such thread on disk. */
export class ThreadMissing extends Error {
  override readonly name = 'ThreadMissing'
  constructor(readonly threadId: string) {
    super(`no rollout found for thread id ${threadId}`)
  }
}

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
export class ThreadStore {
  private readonly nowMs: () => number
  private openIndex: ThreadIndex | null = null
  private scan: Promise<void> | null = null
  private scanTimer: NodeJS.Timeout | null = null
  private scannedAtMs = Number.NEGATIVE_INFINITY
  private readonly closing = new AbortController()
  private readonly logs = new Set<ThreadLog>()
  /** Turns and items of threads on disk, a page at a time. */
  readonly pages: ThreadPages

  constructor(private readonly options: ThreadStoreOptions) {
    this.nowMs = options.nowMs ?? Date.now
    this.pages = new ThreadPages({
      index: () => this.index,
      read: async (thread) => (await this.read(thread, 'turns')).projection.turns,
    })
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
}
