import { mkdir, open, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { describeDiskTrouble } from '../storage/disk-trouble.ts'
import { isDurable, type AuditEvent, type AuditRecord } from './audit-event.ts'
import { fileName, listJournal, monthOf, repairTail, type JournalFile } from './journal-files.ts'
import { formatBody, formatLine } from './journal-line.ts'
import { lastSeq } from './journal-reader.ts'

export interface JournalLimits {
  /** Waiting bytes beyond which facts (not decisions) are dropped and counted. */
  factBytes: number
  /** Waiting bytes beyond which nothing more is taken; see `canRecord`. */
  hardBytes: number
  /** A file that has grown past this is followed by a new part. */
  fileBytes: number
  firstRetryMs: number
  lastRetryMs: number
}
/** Memory that is negligible beside a window, yet holds some 20 000 decisions while a disk is full. */
const LIMITS: JournalLimits = {
  factBytes: 8 * 1024 * 1024,
  hardBytes: 16 * 1024 * 1024,
  fileBytes: 64 * 1024 * 1024,
  firstRetryMs: 500,
  lastRetryMs: 15_000,
}
const BATCH_BYTES = 1024 * 1024
/** Facts reach the disk at the latest this long after they were written. */
const FACT_SYNC_MS = 1_000

export interface JournalWriterOptions {
  folder: string
  now?: () => number
  limits?: Partial<JournalLimits>
  /** One sentence when writing begins to fail or fails otherwise; null when it works again. */
  onTrouble?: (message: string | null) => void
  /** A torn record was found and its bytes were kept at `aside`. */
  onRepaired?: (aside: string) => void
  /** The file that was written to is no longer at `path`; a new one was begun. */
  onDisplaced?: (path: string) => void
}

interface Waiting {
  event: AuditEvent
  atMs: number
  body: string
  bytes: number
  durable: boolean
}

/**
 * The one writer of the journal. `append` never waits: it puts the record into a bounded queue which is
 * written in batches of whole lines.
 *
 * What is on disk when: a batch that holds a decision, request or rule is followed by fdatasync before
 * the next one; other facts are synced within a second. While the disk refuses, the queue is kept and
 * tried again (0.5 s, doubling to 15 s) on a freshly opened file. Past `factBytes` facts are counted
 * instead of kept and a `journal.gap` record says how many; past `hardBytes` `canRecord()` is false and
 * the host allows nothing that would not be on record.
 */
export class JournalWriter {
  private readonly limits: JournalLimits
  private readonly now: () => number
  private queue: Waiting[] = []
  private queuedBytes = 0
  private lost: { count: number; fromMs: number; toMs: number } | undefined
  private file: { handle: FileHandle; name: JournalFile; size: number } | undefined
  private writtenSeq: number | undefined
  private running: Promise<void> | undefined
  private retryTimer: NodeJS.Timeout | undefined
  private syncTimer: NodeJS.Timeout | undefined
  private retryMs: number
  private troubleCause: string | null = null
  private closed = false
  private idleWaiters: (() => void)[] = []

  constructor(private readonly options: JournalWriterOptions) {
    this.limits = { ...LIMITS, ...options.limits }
    this.now = options.now ?? Date.now
    this.retryMs = this.limits.firstRetryMs
  }

  /** False while so much waits for the disk that another decision could not be kept. */
  canRecord(): boolean {
    return this.queuedBytes < this.limits.hardBytes
  }

  append(event: AuditEvent): void {
    const atMs = this.now()
    const durable = isDurable(event.kind)
    const limit = durable ? this.limits.hardBytes : this.limits.factBytes
    if (this.queuedBytes >= limit) {
      this.lost = { count: (this.lost?.count ?? 0) + 1, fromMs: this.lost?.fromMs ?? atMs, toMs: atMs }
      return
    }
    if (this.lost && this.queuedBytes < this.limits.factBytes) {
      const { count, fromMs, toMs } = this.lost
      this.lost = undefined
      this.push({ kind: 'journal.gap', lost: count, fromMs, toMs }, atMs, true)
    }
    this.push(event, atMs, durable)
    this.pump()
  }

  private push(event: AuditEvent, atMs: number, durable: boolean): void {
    const body = formatBody(event, atMs)
    const bytes = Buffer.byteLength(body) + 24
    this.queue.push({ event, atMs, body, bytes, durable })
    this.queuedBytes += bytes
  }

  /** Number of the newest record on disk; undefined until the folder could be opened for writing. */
  get lastWrittenSeq(): number | undefined {
    return this.writtenSeq
  }

  /** Records not on disk yet, oldest first, numbered after `base`. */
  waiting(base: number): AuditRecord[] {
    return this.queue.map(({ event, atMs }, i) => ({ ...event, atMs, seq: base + i + 1 }))
  }

  /** Resolves when everything appended so far is written and synced, or after `deadlineMs`. */
  async settle(deadlineMs: number): Promise<boolean> {
    this.pump()
    if (this.isIdle()) return true
    let timer: NodeJS.Timeout | undefined
    const idle = new Promise<boolean>((resolve) => this.idleWaiters.push(() => resolve(true)))
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), deadlineMs)))
    const settled = await Promise.race([idle, late])
    clearTimeout(timer)
    return settled
  }

  /** Writes what waits (for at most `deadlineMs`) and lets the file go. Later appends are not written. */
  async close(deadlineMs: number): Promise<void> {
    clearTimeout(this.retryTimer)
    this.retryTimer = undefined
    await this.settle(deadlineMs)
    this.closed = true
    clearTimeout(this.retryTimer)
    clearTimeout(this.syncTimer)
    await this.running
    await this.letGo(true)
  }

  private isIdle(): boolean {
    return this.queue.length === 0 && !this.running
  }

  private pump(): void {
    if (this.running || this.retryTimer || this.closed || this.queue.length === 0) return
    this.running = this.drain().finally(() => {
      this.running = undefined
      if (this.queue.length > 0) return this.pump()
      for (const resolve of this.idleWaiters.splice(0)) resolve()
    })
  }

  private async drain(): Promise<void> {
    try {
      while (this.queue.length > 0 && !this.closed) await this.writeBatch()
      this.retryMs = this.limits.firstRetryMs
      this.report(null)
    } catch (error) {
      const path = join(this.options.folder, fileName(this.file?.name ?? { month: monthOf(this.now()), part: 1 }))
      await this.letGo(false)
      const message = `The audit journal cannot be written to ${path}: ${await describeDiskTrouble(error, path)}.`
      this.report(message, `${path} ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`)
      if (this.closed) return
      this.retryTimer = setTimeout(() => {
        this.retryTimer = undefined
        this.pump()
      }, this.retryMs)
      this.retryMs = Math.min(this.retryMs * 2, this.limits.lastRetryMs)
    }
  }

  private async writeBatch(): Promise<void> {
    const file = await this.openFile()
    const batch: Waiting[] = []
    let bytes = 0
    for (const record of this.queue) {
      if (batch.length > 0 && bytes + record.bytes > BATCH_BYTES) break
      batch.push(record)
      bytes += record.bytes
    }
    const base = this.writtenSeq ?? 0
    const text = Buffer.from(batch.map(({ body }, i) => formatLine(base + i + 1, body)).join(''))
    try {
      await file.handle.appendFile(text)
      if (batch.some((record) => record.durable)) await file.handle.datasync()
      else this.syncSoon()
    } catch (error) {
      // Half a batch may be there; it is still in the queue, so it must not stay on disk as well.
      await file.handle.truncate(file.size).catch(() => {
        // A device, or a disk that refuses that too: the tail is looked at when the file is opened again.
      })
      throw error
    }
    file.size += text.length
    this.writtenSeq = base + batch.length
    this.dequeue(batch.length)
  }

  /** The file to write to: the newest, unless the month has changed or it is full. */
  private async openFile(): Promise<NonNullable<JournalWriter['file']>> {
    const { folder } = this.options
    const month = monthOf(this.now())
    if (this.file && !(await this.isInPlace(this.file))) {
      this.options.onDisplaced?.(join(folder, fileName(this.file.name)))
      await this.letGo(true)
    }
    if (this.file && this.file.name.month >= month && this.file.size < this.limits.fileBytes) return this.file
    await this.letGo(true)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const newest = (await listJournal(folder)).at(-1)
    // A clock that was set back must not reopen an older month: order in the files is order of events.
    if (newest && newest.month >= month) {
      const opened = await this.open(newest)
      if (opened.size < this.limits.fileBytes) return (this.file = opened)
      await opened.handle.close()
      return (this.file = await this.open({ month: newest.month, part: newest.part + 1 }))
    }
    if (newest && this.writtenSeq === undefined) await (await this.open(newest)).handle.close()
    return (this.file = await this.open({ month, part: 1 }))
  }

  /** False when somebody moved or removed the file, or its folder: what is written to it then is nowhere to be found. */
  private async isInPlace({ handle, name }: NonNullable<JournalWriter['file']>): Promise<boolean> {
    const [ours, named] = await Promise.all([
      handle.stat(),
      stat(join(this.options.folder, fileName(name))).catch(() => undefined),
    ])
    return named !== undefined && named.ino === ours.ino && named.dev === ours.dev
  }

  private async open(name: JournalFile): Promise<NonNullable<JournalWriter['file']>> {
    const path = join(this.options.folder, fileName(name))
    await refuseOddFile(path)
    const handle = await open(path, 'a+', 0o600)
    try {
      const aside = await repairTail(path, handle, this.now())
      if (aside !== undefined) this.options.onRepaired?.(aside)
      this.adoptOnDisk(await lastSeq(this.options.folder))
      return { handle, name, size: (await handle.stat()).size }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** After a failed write some of the batch may be on disk although the file could not be cut back. */
  private adoptOnDisk(seq: number): void {
    const already = this.writtenSeq === undefined ? 0 : Math.max(0, seq - this.writtenSeq)
    this.writtenSeq = Math.max(this.writtenSeq ?? 0, seq)
    if (already > 0) this.dequeue(already)
  }

  private dequeue(count: number): void {
    for (const { bytes } of this.queue.slice(0, count)) this.queuedBytes -= bytes
    this.queue = this.queue.slice(count)
  }

  private syncSoon(): void {
    this.syncTimer ??= setTimeout(() => {
      this.syncTimer = undefined
      void this.file?.handle.datasync().catch(() => {
        // The next write meets the same disk and reports it.
      })
    }, FACT_SYNC_MS)
  }

  private async letGo(sync: boolean): Promise<void> {
    const file = this.file
    this.file = undefined
    if (!file) return
    if (sync) await file.handle.datasync().catch(() => {})
    await file.handle.close().catch(() => {})
  }

  /** Tells a trouble once: the same cause is not told again because the free space named in it has changed. */
  private report(message: string | null, cause: string | null = message): void {
    if (cause === this.troubleCause) return
    this.troubleCause = cause
    this.options.onTrouble?.(message)
  }
}

/** Opening a pipe for append waits for a reader, for ever; a folder gives a poorer error later. */
async function refuseOddFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (!found || found.isFile() || found.isCharacterDevice()) return
  throw new Error(`${path} is not a regular file; move it away`)
}
