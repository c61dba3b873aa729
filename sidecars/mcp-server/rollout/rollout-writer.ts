/**
 * Appends records to one rollout file. One writer per file, whole lines in one write each.
 *
 * Nothing accepted is lost while the process lives: when the disk is full or the folder read-only the
 * lines stay in memory and are tried again with the next write. The file is made at the first write,
 * not before, so that a thread without a turn leaves nothing behind.
 *
 * Writing is synchronous: a line goes to the page cache in microseconds, and whoever announces something
 * can be sure that a killed process no longer loses it. Only what reaches the disk itself is waited for.
 */
import { closeSync, fdatasync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { formatRecord, type RolloutRecord } from './rollout-record.ts'

export interface WrittenRecord {
  record: RolloutRecord
  offset: number
  byteLength: number
}

export interface RolloutWriterOptions {
  path: string
  /** Called with a flush, in order, after records reached the file, e.g. to index them. */
  onWritten(written: WrittenRecord[], endOffset: number): void
}

const toDisk = promisify(fdatasync)

export class RolloutWriter {
  private queue: RolloutRecord[] = []
  /** In the file and not yet handed to `onWritten`. */
  private unpublished: WrittenRecord[] = []
  private file: number | null = null
  private end = 0
  private tail: Promise<void> = Promise.resolve()
  /** A failed write may have left a part of a line; the next one starts on a line of its own. */
  private torn = false

  constructor(private readonly options: RolloutWriterOptions) {}

  /** Queues records for the next write; never throws and never waits. */
  append(records: readonly RolloutRecord[]): void {
    this.queue.push(...records)
  }

  /** Records accepted and not yet in the file. */
  get pending(): number {
    return this.queue.length
  }

  /** Records in the file that `onWritten` has not seen. */
  get unseen(): number {
    return this.unpublished.length
  }

  /**
   * Puts what is queued into the file before it returns: killing this process cannot lose it any more.
   * Throws the file system's error; the records stay queued then.
   */
  write(): void {
    if (this.queue.length === 0) return
    this.file ??= this.openFile()
    const lines = this.queue.map(formatRecord)
    this.writeBlock(this.file, Buffer.from((this.torn ? '\n' : '') + lines.join(''), 'utf8'))
    for (const [i, record] of this.queue.entries()) {
      const byteLength = Buffer.byteLength(lines[i]!) - 1
      this.unpublished.push({ record, offset: this.end, byteLength })
      this.end += byteLength + 1
    }
    this.queue = []
  }

  /**
   * Writes what is queued and hands it to `onWritten`; with `sync` it is on the disk when this resolves.
   * Rejects with the file system's error; the records stay queued then.
   */
  flush(sync = false): Promise<void> {
    return this.queued(() => this.flushNow(sync))
  }

  /** What is queued is on the disk when this resolves; `onWritten` gets it with a later flush. Rejects like flush. */
  sync(): Promise<void> {
    return this.queued(async () => {
      this.write()
      if (this.file !== null) await toDisk(this.file)
    })
  }

  private queued(work: () => Promise<void>): Promise<void> {
    const run = this.tail.then(work)
    this.tail = run.catch(() => undefined) // The caller sees the error; the next one tries again.
    return run
  }

  /** Flushes and closes. Rejects like flush; the file is closed all the same. */
  async close(): Promise<void> {
    try {
      await this.flush(true)
    } finally {
      if (this.file !== null) closeSync(this.file)
      this.file = null
    }
  }

  /** Writes what is queued and hands it to `onWritten`, before it returns. Throws like `write`. */
  publish(): void {
    this.write()
    if (this.unpublished.length > 0) this.options.onWritten(this.unpublished.splice(0), this.end)
  }

  private async flushNow(sync: boolean): Promise<void> {
    this.publish()
    if (sync && this.file !== null) await toDisk(this.file)
  }

  private writeBlock(file: number, block: Buffer): void {
    try {
      for (let at = 0; at < block.length;) at += writeSync(file, block, at, block.length - at)
    } catch (error) {
      this.recover(file)
      throw error
    }
    if (this.torn) this.end++
    this.torn = false
  }

  /** Cuts off what a failed write left behind; where that fails too the next write starts a new line. */
  private recover(file: number): void {
    try {
      ftruncateSync(file, this.end)
      this.torn = false
    } catch {
      this.torn = true
      this.end = sizeOf(file) ?? this.end
    }
  }

  /** Opens for appending; a torn last line of an earlier crash is left alone, behind a line end. */
  private openFile(): number {
    mkdirSync(dirname(this.options.path), { recursive: true, mode: 0o700 })
    const file = openSync(this.options.path, 'a+', 0o600)
    try {
      const size = fstatSync(file).size
      this.end = size
      if (size > 0) {
        const last = Buffer.alloc(1)
        readSync(file, last, 0, 1, size - 1)
        this.torn = last[0] !== 10
      }
      return file
    } catch (error) {
      closeSync(file)
      throw error
    }
  }
}

function sizeOf(file: number): number | null {
  try {
    return fstatSync(file).size
  } catch {
    return null
  }
}
