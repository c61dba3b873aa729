import type { OutputStream } from '../../protocol/host-channel.ts'
import type { OutputBlock } from './output-block.ts'
import { LostOutput } from './lost-output.ts'
import type { OutputSpool } from './output-spool.ts'

export interface OutputChunk {
  seq: number
  stream: OutputStream
  /** Valid to the end of this turn of the event loop (see OutputBlock): copy what is needed longer. */
  bytes: Buffer
  /** Output bytes of the process before this chunk. */
  startByte: number
}
interface WindowChunk extends OutputChunk {
  block: OutputBlock | undefined
}
/** A range that can no longer be read. */
export interface OutputGap {
  fromSeq: number
  toSeq: number
  bytes: number
}
export interface OutputPage {
  chunks: readonly OutputChunk[]
  /** What is missing between the cursor and the first chunk. */
  gap: OutputGap | undefined
}

/** Output kept in memory per process; older output goes to the spool. */
const WINDOW_BYTES = 1024 * 1024
/** Small chunks cost more than their bytes: also a bound on their number. */
const WINDOW_CHUNKS = 8_192
/** What is at least moved to the spool in one write, and at most. */
const SPILL_BYTES = 512 * 1024
const SPILL_MAX_BYTES = 1024 * 1024
/** The spool does not keep up: the child is held back from here on. */
const PRESSURE_BYTES = 4 * WINDOW_BYTES

export interface OutputLogEvents {
  /** Output comes faster than it can be kept; and that is over. */
  onPressure(isPressed: boolean): void
  /** The spool cannot be used any more; older output is dropped from now on. */
  onSpoolFailure(error: Error): void
}

/**
 * The numbered output of one process: the newest in memory, older chunks in the spool, the oldest lost.
 * Every chunk is in exactly one of the three places, so a reader by cursor gets each once or is told.
 */
export class OutputLog {
  private readonly lost = new LostOutput()
  /** Oldest first; everything before `head` has been moved away. */
  private window: WindowChunk[] = []
  private head = 0
  private windowBytes = 0
  private next = 1
  private written = 0
  private spilling: Promise<void> | undefined
  private isPressed = false

  constructor(
    private spool: OutputSpool | undefined,
    private readonly events: OutputLogEvents,
  ) {
    if (spool) spool.onDropped = (seq, bytesThrough) => this.lost.add(seq, bytesThrough)
  }

  /** The number that the next event of the process gets. */
  get nextSeq(): number {
    return this.next
  }
  /** Output bytes since the start, whatever became of them. */
  get totalBytes(): number {
    return this.written
  }
  /** Lowest number that may still be read. */
  get firstSeq(): number {
    return this.lost.throughSeq + 1
  }
  /** Bytes held in memory. */
  get memoryBytes(): number {
    return this.windowBytes
  }

  /** True while nothing is on its way to the disk. */
  get isSettled(): boolean {
    return this.spilling === undefined
  }

  append(stream: OutputStream, bytes: Buffer, block: OutputBlock | undefined): OutputChunk {
    const chunk = { seq: this.next++, stream, bytes, startByte: this.written, block }
    this.window.push(chunk)
    this.windowBytes += bytes.length
    this.written += bytes.length
    if (this.windowBytes > WINDOW_BYTES + SPILL_BYTES || this.window.length - this.head > 2 * WINDOW_CHUNKS)
      void this.spill(WINDOW_BYTES)
    return chunk
  }

  /** Takes a number for an event that is no output (exit, close). */
  takeSeq(): number {
    return this.next++
  }

  /**
   * Output after `afterSeq`, oldest first: at most `maxBytes` and `maxChunks`, but at least one chunk
   * when there is any. Comes at once unless it must be read from disk.
   */
  read(afterSeq: number, maxBytes: number, maxChunks: number): OutputPage | Promise<OutputPage> {
    if (this.spool && this.spool.lastSeq > afterSeq) return this.readFromSpool(afterSeq, maxBytes, maxChunks)
    const chunks: OutputChunk[] = []
    this.takeFromWindow(chunks, afterSeq, maxBytes, maxChunks)
    return { chunks, gap: this.lost.gapAfter(afterSeq) }
  }

  /**
   * The highest cursor after which at most `maxBytes` and `maxChunks` remain in memory or on disk; for
   * readers that want the newest output in one answer. Exact in memory, by whole batches on disk.
   */
  cursorForNewest(afterSeq: number, maxBytes: number, maxChunks: number): number {
    let bytes = 0
    let index = this.window.length
    for (; index > this.head; index--) {
      const chunk = this.window[index - 1] as WindowChunk
      bytes += chunk.bytes.length
      if (chunk.seq <= afterSeq) return afterSeq
      if (bytes > maxBytes || this.window.length - index >= maxChunks) return chunk.seq
    }
    const chunks = this.window.length - this.head
    return Math.max(afterSeq, this.spool?.cursorForNewest(maxBytes - bytes, maxChunks - chunks) ?? afterSeq)
  }

  /**
   * Moves everything to disk and lets go of the files: for a process that has ended and is seldom looked
   * at. Can be read as before. Without a spool nothing happens.
   */
  async rest(): Promise<void> {
    while (this.spool && this.windowBytes > 0) await (this.spilling ?? this.spill(0))
    await this.spool?.rest()
  }

  /** Removes the spool's files and forgets everything. */
  async dispose(): Promise<void> {
    const { spool } = this
    this.spool = undefined
    this.window = []
    this.head = 0
    this.windowBytes = 0
    await spool?.dispose()
  }

  private takeFromWindow(into: OutputChunk[], afterSeq: number, maxBytes: number, maxChunks: number): void {
    let bytes = 0
    for (const chunk of into) bytes += chunk.bytes.length
    for (let i = this.indexAfter(afterSeq); i < this.window.length && into.length < maxChunks; i++) {
      const chunk = this.window[i] as WindowChunk
      bytes += chunk.bytes.length
      if (bytes > maxBytes && into.length > 0) return
      into.push(chunk)
    }
  }

  private async readFromSpool(afterSeq: number, maxBytes: number, maxChunks: number): Promise<OutputPage> {
    const chunks: OutputChunk[] = []
    let bytes = 0
    let cursor = afterSeq
    for (let { spool } = this; spool && spool.lastSeq > cursor; { spool } = this) {
      const found = await spool.read(cursor).catch((error: Error) => this.loseSpool(error))
      for (const chunk of found ?? []) {
        bytes += chunk.bytes.length
        if (chunks.length > 0 && (bytes > maxBytes || chunks.length >= maxChunks))
          return { chunks, gap: this.gapBefore(afterSeq, chunks) }
        chunks.push(chunk)
        cursor = chunk.seq
      }
    }
    this.takeFromWindow(chunks, cursor, maxBytes, maxChunks)
    return { chunks, gap: this.gapBefore(afterSeq, chunks) }
  }

  /** Output may have been lost while it was being read: what was got all the same is no gap. */
  private gapBefore(afterSeq: number, chunks: readonly OutputChunk[]): OutputGap | undefined {
    const gap = this.lost.gapAfter(afterSeq)
    const first = chunks[0]
    if (!gap || !first || first.seq > gap.toSeq) return gap
    return first.seq > gap.fromSeq ? { ...gap, toSeq: first.seq - 1 } : undefined
  }

  /** Index in the window of the first chunk after `afterSeq`. */
  private indexAfter(afterSeq: number): number {
    let low = this.head
    let high = this.window.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.window[middle] as WindowChunk).seq > afterSeq) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Moves the oldest chunks out of memory until about `keepBytes` remain there. */
  private spill(keepBytes: number): Promise<void> | undefined {
    if (this.spilling) this.checkPressure()
    else if (this.spool) this.spilling = this.spillTo(this.spool, keepBytes)
    else {
      const { batch, bytes } = this.oldest(keepBytes)
      if (batch.length > 0) this.forget(batch, bytes, 'lost')
    }
    return this.spilling
  }

  private async spillTo(spool: OutputSpool, keepBytes: number): Promise<void> {
    do {
      const { batch, bytes } = this.oldest(keepBytes)
      if (batch.length === 0) break
      await spool.append(batch).catch((error: Error) => this.loseSpool(error))
      // Disposed meanwhile: there is nothing left to move.
      if (this.window.length === 0) break
      this.forget(batch, bytes, this.spool ? 'on disk' : 'lost')
      this.checkPressure()
    } while (this.spool && this.windowBytes > keepBytes + (keepBytes === 0 ? 0 : SPILL_BYTES))
    this.spilling = undefined
    this.checkPressure()
  }

  /** The oldest chunks, as many as one write takes, that are too much beside `keepBytes`. */
  private oldest(keepBytes: number): { batch: WindowChunk[]; bytes: number } {
    const batch: WindowChunk[] = []
    let bytes = 0
    for (let i = this.head; i < this.window.length && bytes < SPILL_MAX_BYTES; i++) {
      if (keepBytes > 0 && this.windowBytes - bytes <= keepBytes && this.window.length - i <= WINDOW_CHUNKS) break
      const chunk = this.window[i] as WindowChunk
      batch.push(chunk)
      bytes += chunk.bytes.length
    }
    return { batch, bytes }
  }

  private forget(batch: readonly WindowChunk[], bytes: number, whither: 'on disk' | 'lost'): void {
    if (whither === 'lost') this.lost.add(batch.at(-1)?.seq ?? 0, this.written - this.windowBytes + bytes)
    for (const { block } of batch) block?.release()
    this.head += batch.length
    this.windowBytes -= bytes
    // Cutting an array costs its length, so it is done seldom.
    if (this.head > 1_024 && this.head * 2 > this.window.length) {
      this.window = this.window.slice(this.head)
      this.head = 0
    } else for (let i = this.head - batch.length; i < this.head; i++) this.window[i] = FORGOTTEN
  }

  private loseSpool(error: Error): undefined {
    const { spool } = this
    if (!spool) return undefined
    this.spool = undefined
    if (spool.lastSeq > 0) this.lost.add(spool.lastSeq, this.written - this.windowBytes)
    this.events.onSpoolFailure(error)
    void spool.dispose()
    return undefined
  }

  private checkPressure(): void {
    const isPressed = this.spilling !== undefined && this.windowBytes > PRESSURE_BYTES
    if (isPressed === this.isPressed) return
    this.isPressed = isPressed
    this.events.onPressure(isPressed)
  }
}

/** Takes the place of moved chunks until the array is cut, so that their bytes are free. */
const FORGOTTEN: WindowChunk = { seq: 0, stream: 'stdout', bytes: Buffer.alloc(0), startByte: 0, block: undefined }
