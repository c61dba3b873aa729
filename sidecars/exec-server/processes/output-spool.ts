import { open, unlink, type FileHandle } from 'node:fs/promises'
import type { OutputStream } from '../../protocol/host-channel.ts'
import { dropped } from '../streams/large-garbage.ts'
import type { OutputChunk } from './output-log.ts'

const STREAMS: readonly OutputStream[] = ['stdout', 'stderr', 'pty']
/** Head of one chunk: stream (1 byte), length (4), sequence number (6). */
const HEAD_BYTES = 11
/** Chunks smaller than this on average are put together before they are written. */
const JOIN_BELOW_BYTES = 4 * 1024
/**
 * The spool is cut into this many files. The oldest is emptied for the newest output: writing over pages
 * that the system has at hand costs a fifth of writing new ones.
 */
const SEGMENTS = 8

/** Chunks that were written together and are read together: all heads, then all output. */
interface Batch {
  segment: Segment
  offset: number
  sizeBytes: number
  lastSeq: number
  chunks: number
  payloadBytes: number
  /** Output bytes before this batch since the process began to write. */
  startByte: number
}
interface Segment {
  path: string
  /** Undefined while it rests. */
  file: FileHandle | undefined
  sizeBytes: number
  /** Counts how often it was started anew: a read that crosses such a moment has read something else. */
  lives: number
}

/**
 * Output of one process on disk, oldest first. When `limitBytes` is reached the oldest part, about an
 * eighth, is dropped. Files are made when the first chunk comes and removed by `dispose`.
 */
export class OutputSpool {
  /** Told when the oldest output is dropped: its last number and the bytes written up to there. */
  onDropped: (throughSeq: number, bytesThrough: number) => void = () => {}
  private readonly segments: Segment[] = []
  private readonly batches: Batch[] = []
  private segmentsMade = 0
  private isResting = false
  private isDisposed = false

  constructor(
    /** Absolute path that the files' names start with. */
    private readonly pathPrefix: string,
    private readonly limitBytes: number,
  ) {}

  /** How far output may run ahead of a reader without danger to what it has not read yet. */
  get leadBytes(): number {
    return Math.floor(this.limitBytes / 2)
  }
  /** Highest sequence number on disk, 0 while nothing is. */
  get lastSeq(): number {
    return this.batches.at(-1)?.lastSeq ?? 0
  }

  /**
   * Appends chunks in order. One call at a time. Rejects with the system's error when they could not
   * be written whole; nothing of them can then be read.
   */
  async append(chunks: readonly OutputChunk[]): Promise<void> {
    const first = chunks[0]
    const last = chunks.at(-1)
    if (!first || !last || this.isDisposed) return
    const parts = encodeChunks(chunks)
    const sizeBytes = parts.reduce((sum, part) => sum + part.length, 0)
    const segment = await this.segmentFor(sizeBytes)
    const offset = segment.sizeBytes
    await this.withFile(segment, (file) => writeAll(file, parts, sizeBytes, offset))
    segment.sizeBytes += sizeBytes
    this.batches.push({
      segment,
      offset,
      sizeBytes,
      lastSeq: last.seq,
      chunks: chunks.length,
      payloadBytes: sizeBytes - HEAD_BYTES * chunks.length,
      startByte: first.startByte,
    })
  }

  /**
   * The chunks after `afterSeq` of the first batch that has any; undefined when there is none, or when
   * the batch was dropped while it was being read.
   */
  async read(afterSeq: number): Promise<OutputChunk[] | undefined> {
    const batch = this.batches[this.batchAfter(afterSeq)]
    if (!batch) return undefined
    const { segment } = batch
    const { lives } = segment
    const record = Buffer.allocUnsafe(batch.sizeBytes)
    await this.withFile(segment, (file) => readAll(file, record, batch.offset))
    dropped(record.length)
    if (segment.lives !== lives) return undefined
    return decodeChunks(record, batch).filter((chunk) => chunk.seq > afterSeq)
  }

  /** The cursor after which at most so many bytes and chunks are on disk, by whole batches. */
  cursorForNewest(maxBytes: number, maxChunks: number): number {
    let bytes = 0
    let chunks = 0
    for (let i = this.batches.length - 1; i >= 0; i--) {
      const batch = this.batches[i] as Batch
      bytes += batch.payloadBytes
      chunks += batch.chunks
      if (bytes > maxBytes || chunks > maxChunks) return batch.lastSeq
    }
    return 0
  }

  /** Keeps no file open but while it is used. */
  async rest(): Promise<void> {
    this.isResting = true
    await Promise.all(this.segments.map((segment) => letGo(segment)))
  }

  /** Removes the files. Reads under way may still end. */
  async dispose(): Promise<void> {
    this.isDisposed = true
    this.batches.length = 0
    await Promise.all(this.segments.splice(0).map(remove))
  }

  /** Index of the first batch that holds something after `afterSeq`. */
  private batchAfter(afterSeq: number): number {
    let low = 0
    let high = this.batches.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.batches[middle] as Batch).lastSeq > afterSeq) high = middle
      else low = middle + 1
    }
    return low
  }

  private async segmentFor(sizeBytes: number): Promise<Segment> {
    const current = this.segments.at(-1)
    if (current && current.sizeBytes + sizeBytes <= this.limitBytes / SEGMENTS) return current
    const totalBytes = this.segments.reduce((sum, segment) => sum + segment.sizeBytes, 0)
    const isFull = totalBytes + sizeBytes > this.limitBytes
    const segment = isFull && this.segments.length > 1 ? this.emptyOldest() : await this.addSegment()
    this.segments.push(segment)
    return segment
  }

  private async withFile<T>(segment: Segment, use: (file: FileHandle) => Promise<T>): Promise<T> {
    if (segment.file) return use(segment.file)
    const file = await open(segment.path, 'r+')
    try {
      return await use(file)
    } finally {
      await file.close()
    }
  }

  private async addSegment(): Promise<Segment> {
    const path = `${this.pathPrefix}.${this.segmentsMade++}`
    // Exclusive and private: somebody else's file of that name is never written into.
    const segment: Segment = { path, file: await open(path, 'wx+', 0o600), sizeBytes: 0, lives: 0 }
    if (this.isResting) await letGo(segment)
    if (!this.isDisposed) return segment
    await remove(segment)
    throw new Error('the spool was closed')
  }

  private emptyOldest(): Segment {
    const oldest = this.segments.shift() as Segment
    let dropped: Batch | undefined
    while (this.batches[0]?.segment === oldest) dropped = this.batches.shift()
    if (dropped) this.onDropped(dropped.lastSeq, dropped.startByte + dropped.payloadBytes)
    oldest.sizeBytes = 0
    oldest.lives++
    return oldest
  }
}

async function letGo(segment: Segment): Promise<void> {
  const { file } = segment
  segment.file = undefined
  // Waits for reads and writes under way.
  await file?.close().catch(() => {})
}

async function remove(segment: Segment): Promise<void> {
  // The file may be gone already (a cleaned temporary folder); the space is free either way.
  await unlink(segment.path).catch(() => {})
  await letGo(segment)
}

function encodeChunks(chunks: readonly OutputChunk[]): Buffer[] {
  const heads = Buffer.allocUnsafe(HEAD_BYTES * chunks.length)
  let at = 0
  let payloadBytes = 0
  for (const { seq, stream, bytes } of chunks) {
    heads[at] = STREAMS.indexOf(stream)
    heads.writeUInt32LE(bytes.length, at + 1)
    heads.writeUIntLE(seq, at + 5, 6)
    at += HEAD_BYTES
    payloadBytes += bytes.length
  }
  const parts = [heads, ...chunks.map(({ bytes }) => bytes)]
  return payloadBytes < JOIN_BELOW_BYTES * chunks.length ? [Buffer.concat(parts)] : parts
}

function decodeChunks(record: Buffer, { chunks: count, startByte }: Batch): OutputChunk[] {
  const chunks: OutputChunk[] = []
  const headsBytes = HEAD_BYTES * count
  let start = headsBytes
  for (let at = 0; at < headsBytes; at += HEAD_BYTES) {
    const end = start + record.readUInt32LE(at + 1)
    chunks.push({
      seq: record.readUIntLE(at + 5, 6),
      stream: STREAMS[record[at] as number] as OutputStream,
      bytes: record.subarray(start, end),
      startByte: startByte + start - headsBytes,
    })
    start = end
  }
  return chunks
}

async function writeAll(file: FileHandle, parts: Buffer[], sizeBytes: number, position: number): Promise<void> {
  let { bytesWritten } = await file.writev(parts, position)
  if (bytesWritten === sizeBytes) return
  // A disk that is nearly full takes a part.
  for (const rest = Buffer.concat(parts, sizeBytes); bytesWritten < sizeBytes;)
    bytesWritten += (await file.write(rest, bytesWritten, sizeBytes - bytesWritten, position + bytesWritten))
      .bytesWritten
}

async function readAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done)
    if (bytesRead === 0) throw new Error('the spool file is shorter than it was')
    done += bytesRead
  }
}
