/** One thread open for writing. */
import { RolloutIndexer } from './rollout-indexer.ts'
import { RolloutWriter } from './rollout-writer.ts'
import type { RecordPayload } from './rollout-record.ts'
import type { StoredThread } from './stored-thread.ts'
import type { ThreadIndex, ThreadRow } from './thread-index.ts'
import { acquireWriterLock, type WriterLock } from './writer-lock.ts'

export interface ThreadLogOptions {
  row: ThreadRow
  index: () => ThreadIndex
  lockFolder: string
  /** Held already when an existing thread was opened. */
  lock: WriterLock | null
  nowMs: () => number
  onClosed(): void
}

/** Owned by the thread's session, which closes it. */
export class ThreadLog {
  private readonly writer: RolloutWriter
  private readonly indexer: () => RolloutIndexer
  private nextOrdinal: number
  private lock: Promise<WriterLock> | null
  private held: WriterLock | null
  private closed = false

  constructor(private readonly options: ThreadLogOptions) {
    const { row } = options
    this.nextOrdinal = row.nextOrdinal
    this.held = options.lock
    this.lock = options.lock && Promise.resolve(options.lock)
    let indexer: RolloutIndexer | undefined
    this.indexer = () => (indexer ??= new RolloutIndexer(options.index(), row, options.nowMs))
    this.writer = new RolloutWriter({
      path: row.thread.path,
      onWritten: (written, endOffset) => {
        const index = options.index()
        index.transaction(() => this.indexer().add(written, endOffset))
      },
    })
  }

  get thread(): StoredThread {
    return this.options.row.thread
  }

  /** Something stands on disk. */
  get materialized(): boolean {
    return this.listed || this.writer.unseen > 0
  }

  /** Lists know the thread. */
  get listed(): boolean {
    return this.options.row.indexedBytes > 0
  }

  /** Pages know all that is in the file. */
  get indexed(): boolean {
    return this.listed && this.writer.unseen === 0
  }

  /** Records that are only in memory. */
  get pending(): number {
    return this.writer.pending
  }

  /** Queues one record, in order, without waiting. It is on disk after the next flush. */
  append(type: string, payload: RecordPayload): void {
    const timestamp = new Date(this.options.nowMs()).toISOString()
    this.writer.append([{ timestamp, ordinal: this.nextOrdinal++, type, payload }])
  }

  /** Takes the thread for this process, so that `write` can. Rejects with ThreadInUse or the file system's error. */
  async acquire(): Promise<void> {
    if (this.held) return
    this.lock ??= acquireWriterLock(this.options.lockFolder, this.thread.id).catch((error: unknown) => {
      this.lock = null
      throw error
    })
    this.held = await this.lock
  }

  /**
   * Puts what is queued into the file before it returns, so that a killed process cannot lose it; lists
   * and pages learn of it with the next flush. Throws the file system's error, nothing queued is lost
   * then. Without the thread's lock everything stays queued.
   */
  write(): void {
    if (this.held && !this.closed) this.writer.write()
  }

  /** Like `write`; lists and pages know it, too, when this returns. */
  publish(): void {
    if (this.held && !this.closed) this.writer.publish()
  }

  /**
   * Writes what is queued; with `sync` it survives a power cut once this resolves. Rejects with the
   * file system's error or ThreadInUse; nothing queued is lost then, the next flush tries again.
   */
  async flush(sync = false): Promise<void> {
    if (this.closed) return
    await this.acquire()
    await this.writer.flush(sync)
  }

  /** What is queued survives a power cut once this resolves; pages know it with the next flush. Rejects like flush. */
  async sync(): Promise<void> {
    if (this.closed) return
    await this.acquire()
    await this.writer.sync()
  }

  /** Flushes what is on disk already (a thread without a turn leaves nothing) and lets go of the thread. */
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    try {
      if (this.materialized) await this.writer.close()
    } finally {
      this.held?.release()
      this.options.onClosed()
    }
  }
}
