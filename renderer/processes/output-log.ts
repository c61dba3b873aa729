/**
 * All output of a process as numbered rows, read by cursor: what is not in view is not in memory. An
 * index remembers where each page of rows begins; pages are read again when they come into view.
 */
import type { Outcome, ProcessReadView } from '../../preload/api.ts'
import { gapWords } from './output-flow.ts'
import { RowSplitter, type OutputRow, type RowStart } from './row-splitter.ts'

const PAGE_ROWS = 400
const READ_BYTES = 1024 * 1024
/** Pages kept in memory: enough for a screen above and below at any row height. */
const CACHED_PAGES = 8

export type ReadOutput = (afterSeq: number, maxBytes: number) => Promise<Outcome<ProcessReadView>>

interface PageStart extends RowStart {
  firstRow: number
}

export interface SearchProgress {
  /** Row numbers that match, in order. */
  rows: readonly number[]
  /** Rows searched so far, of all that were indexed. */
  searched: number
  done: boolean
}

export class OutputLog {
  /** Rows that are complete. */
  private rows = 0
  private pages: PageStart[] = []
  private nextSeq = 1
  private splitter = this.newIndexer()
  private readonly cache = new Map<number, OutputRow[]>()
  private extending: Promise<Outcome<null>> | null = null
  /** Bytes that were dropped before they could be read. */
  droppedBytes = 0

  constructor(private readonly read: ReadOutput) {}

  /** All rows, the unfinished last one included. */
  get rowCount(): number {
    return this.rows + (this.splitter.unfinished() ? 1 : 0)
  }

  /** The sequence number up to which rows are known. */
  get knownSeq(): number {
    return this.nextSeq - 1
  }

  /**
   * Indexes everything up to `seq` (inclusive), telling of progress as it goes. One run at a time: a
   * second call joins the first.
   */
  extend(seq: number, onProgress: () => void): Promise<Outcome<null>> {
    this.extending ??= this.index(seq, onProgress).finally(() => {
      this.extending = null
    })
    return this.extending
  }

  private async index(seq: number, onProgress: () => void): Promise<Outcome<null>> {
    while (this.nextSeq <= seq) {
      const answer = await this.read(this.nextSeq - 1, READ_BYTES)
      if (!answer.ok) return answer
      const { chunks, gap, nextSeq } = answer.value
      if (gap) this.droppedBytes += gap.bytes
      for (const chunk of chunks) {
        this.splitter.push(chunk)
        this.nextSeq = chunk.seq + 1
      }
      // The last page may hold a row that was unfinished when it was cached.
      this.cache.delete(this.pages.length - 1)
      onProgress()
      // Exit and close have sequence numbers without bytes: nothing more to read is the end.
      if (chunks.length === 0) {
        this.nextSeq = Math.max(this.nextSeq, gap ? gap.toSeq + 1 : nextSeq)
        if (!gap) break
      }
    }
    return { ok: true, value: null }
  }

  private newIndexer(): RowSplitter {
    return new RowSplitter((_row, start) => {
      if (this.rows % PAGE_ROWS === 0) this.pages.push({ ...start, firstRow: this.rows })
      this.rows += 1
    })
  }

  /** A row that is in memory; undefined until `load` has brought its page. */
  row(index: number): OutputRow | undefined {
    if (index === this.rows) return this.splitter.unfinished() ?? undefined
    return this.cache.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS]
  }

  /** Brings the pages of the rows `[start, end)` into memory. */
  async load(start: number, end: number): Promise<Outcome<null>> {
    const lastPage = Math.floor((Math.min(end, this.rows) - 1) / PAGE_ROWS)
    for (let page = Math.floor(start / PAGE_ROWS); page <= lastPage; page++) {
      if (this.cache.has(page)) continue
      const answer = await this.readPage(page)
      if (!answer.ok) return answer
      this.cache.set(page, answer.value)
      for (const old of this.cache.keys()) {
        if (this.cache.size <= CACHED_PAGES) break
        if (old !== page) this.cache.delete(old)
      }
    }
    return { ok: true, value: null }
  }

  private async readPage(page: number): Promise<Outcome<OutputRow[]>> {
    const start = this.pages[page]
    if (!start) return { ok: true, value: [] }
    const wanted = Math.min(PAGE_ROWS, this.rows - start.firstRow)
    const rows: OutputRow[] = []
    const splitter = new RowSplitter((row) => rows.push(row), start.continues)
    let afterSeq = start.seq - 1
    while (rows.length < wanted) {
      const answer = await this.read(afterSeq, READ_BYTES / 4)
      if (!answer.ok) return answer
      const { chunks, gap } = answer.value
      if (gap) rows.push({ text: gapWords(gap.bytes), isError: false, continues: false })
      if (chunks.length === 0) break
      for (const chunk of chunks) {
        splitter.push(chunk, chunk.seq === start.seq ? start.offset : 0)
        afterSeq = chunk.seq
      }
    }
    return { ok: true, value: rows.slice(0, wanted) }
  }

  /** Finds every row that contains `query`, ignoring case. Tells of progress page by page until aborted. */
  async search(
    query: string,
    signal: AbortSignal,
    onProgress: (progress: SearchProgress) => void,
  ): Promise<Outcome<null>> {
    const wanted = query.toLowerCase()
    const found: number[] = []
    const report = (searched: number, done: boolean): void => onProgress({ rows: [...found], searched, done })
    for (let page = 0; page < this.pages.length; page++) {
      const answer = this.cache.get(page) ? null : await this.readPage(page)
      if (signal.aborted) return { ok: true, value: null }
      if (answer && !answer.ok) return answer
      const rows = answer?.value ?? this.cache.get(page) ?? []
      const first = page * PAGE_ROWS
      for (const [offset, row] of rows.entries())
        if (row.text.toLowerCase().includes(wanted)) found.push(first + offset)
      report(first + rows.length, false)
    }
    if (this.splitter.unfinished()?.text.toLowerCase().includes(wanted)) found.push(this.rows)
    report(this.rowCount, true)
    return { ok: true, value: null }
  }
}
