import type { AuditView } from '../../preload/api.ts'
import type { AuditEvent, AuditRecord } from './audit-event.ts'
import { auditView, namesIn } from './audit-view.ts'
import { lastSeq, recordsBackwards } from './journal-reader.ts'
import { JournalWriter, type JournalWriterOptions } from './journal-writer.ts'

export type { AuditEvent, AuditRecord } from './audit-event.ts'

/** A page asked for with a silly limit still answers. */
const MAX_PAGE = 1000

/** Every request, decision, process, connection and rule change, in the order in which they happened. */
export class Audit {
  private readonly writer: JournalWriter

  constructor(private readonly options: JournalWriterOptions) {
    this.writer = new JournalWriter(options)
  }

  /** Never waits and never throws; see `JournalWriter` for what a full disk does. */
  record(event: AuditEvent): void {
    this.writer.append(event)
  }

  /** False while a decision could not be kept: nothing may be allowed then. */
  canRecord(): boolean {
    return this.writer.canRecord()
  }

  /** Records newest first, those that still wait for the disk included. */
  async *backwards(before: number | null = null): AsyncGenerator<AuditRecord> {
    const base = await this.lastOnDisk()
    const waiting = this.writer.waiting(base)
    for (const record of waiting.toReversed()) if (before === null || record.seq < before) yield record
    // What is written while this is read was told above.
    const limit = before === null ? base + 1 : Math.min(before, base + 1)
    try {
      yield* recordsBackwards(this.options.folder, limit)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  /** One page, newest first; `next` is the `before` of the following one, null at the beginning of the journal. */
  async page(before: number | null, limit: number): Promise<{ entries: AuditView[]; next: number | null }> {
    const wanted = Math.max(1, Math.min(limit, MAX_PAGE))
    const records: AuditRecord[] = []
    let next: number | null = null
    for await (const record of this.backwards(before)) {
      if (records.length === wanted) {
        next = records.at(-1)!.seq
        break
      }
      records.push(record)
    }
    // What ended on this page has mostly begun on it, too.
    const names = namesIn(records)
    return { entries: records.map((record) => auditView(record, names)), next }
  }

  /** Nothing that waits is on disk before the writer has opened it and knows its last number. */
  private async lastOnDisk(): Promise<number> {
    if (this.writer.lastWrittenSeq !== undefined) return this.writer.lastWrittenSeq
    const found = await lastSeq(this.options.folder).catch(() => 0)
    return this.writer.lastWrittenSeq ?? found
  }

  /** Resolves when all is written and synced, or after `deadlineMs` with false. */
  settle(deadlineMs: number): Promise<boolean> {
    return this.writer.settle(deadlineMs)
  }

  close(deadlineMs: number): Promise<void> {
    return this.writer.close(deadlineMs)
  }
}
