/**
 * Appends records to one rollout file. One writer per file, whole lines in one write each.
 *
 * Nothing accepted is lost while the process lives: when the disk is full or the folder read-only the
 * lines stay in memory and are tried again with the next flush. The file is made at the first flush,
 * not before, so that a thread without a turn leaves nothing behind.
 */
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { formatRecord, type RolloutRecord } from './rollout-record.ts'

export interface WrittenRecord {
  record: RolloutRecord
  offset: number
  byteLength: number
}

export interface RolloutWriterOptions {
  path: string
  /** Called in order after records reached the file, e.g. to index them. */
  onWritten(written: WrittenRecord[], endOffset: number): void
}

export class RolloutWriter {
  private queue: RolloutRecord[] = []
  private file: FileHandle | null = null
  private end = 0
  private tail: Promise<void> = Promise.resolve()
  /** A failed write may have left a part of a line; the next one starts on a line of its own. */
  private torn = false

  constructor(private readonly options: RolloutWriterOptions) {}

  /** Queues records for the next flush; never throws and never waits. */
  append(records: readonly RolloutRecord[]): void {
    this.queue.push(...records)
  }

  /** Records accepted and not yet in the file. */
  get pending(): number {
    return this.queue.length
  }

  /**
   * Writes what is queued; with `sync` it is on the disk when this resolves. Rejects with the file
   * system's error; the records stay queued then.
   */
  flush(sync = false): Promise<void> {
    const run = this.tail.then(() => this.writeQueued(sync))
    this.tail = run.catch(() => undefined) // The caller of this flush sees the error; the next one tries again.
    return run
  }

  /** Flushes and closes. Rejects like flush; the file is closed all the same. */
  async close(): Promise<void> {
    try {
      await this.flush(true)
    } finally {
      await this.file?.close()
      this.file = null
    }
  }

  private async writeQueued(sync: boolean): Promise<void> {
    if (this.queue.length > 0) {
      this.file ??= await this.openFile()
      const records = this.queue
      const lines = records.map(formatRecord)
      const block = Buffer.from((this.torn ? '\n' : '') + lines.join(''), 'utf8')
      await this.writeBlock(block)
      this.queue = this.queue.slice(records.length)
      this.publish(records, lines)
    }
    if (sync) await this.file?.datasync()
  }

  private async writeBlock(block: Buffer): Promise<void> {
    const file = this.file!
    try {
      for (let at = 0; at < block.length;) {
        const { bytesWritten } = await file.write(block, at, block.length - at)
        at += bytesWritten
      }
    } catch (error) {
      await this.recover(file)
      throw error
    }
    if (this.torn) this.end++
    this.torn = false
  }

  /** Cuts off what a failed write left behind; where that fails too the next write starts a new line. */
  private async recover(file: FileHandle): Promise<void> {
    try {
      await file.truncate(this.end)
      this.torn = false
    } catch {
      this.torn = true
      this.end = (await file.stat().catch(() => ({ size: this.end }))).size
    }
  }

  private publish(records: RolloutRecord[], lines: string[]): void {
    const written = records.map((record, i) => {
      const byteLength = Buffer.byteLength(lines[i]!) - 1
      const offset = this.end
      this.end += byteLength + 1
      return { record, offset, byteLength }
    })
    this.options.onWritten(written, this.end)
  }

  /** Opens for appending; a torn last line of an earlier crash is left alone, behind a line end. */
  private async openFile(): Promise<FileHandle> {
    await mkdir(dirname(this.options.path), { recursive: true, mode: 0o700 })
    const file = await open(this.options.path, 'a+', 0o600)
    const { size } = await file.stat()
    this.end = size
    if (size > 0) {
      const last = Buffer.alloc(1)
      await file.read(last, 0, 1, size - 1)
      this.torn = last[0] !== 10
    }
    return file
  }
}
