import { open, unlink, type FileHandle } from 'node:fs/promises'
import type { OutputStream } from '../../protocol/host-channel.ts'
import type { OutputChunk } from './output-log.ts'

const STREAMS: readonly OutputStream[] = ['stdout', 'stderr', 'pty']
/** Record head: stream (1 byte), length (4), sequence number (6). */
const HEAD_BYTES = 11
/** The spool is cut into this many files, so that dropping the oldest output frees its space. */
const SEGMENTS = 8

/** Chunks that were written together and are read together. */
interface Batch {
  segment: Segment
  offset: number
  sizeBytes: number
  firstSeq: number
  lastSeq: number
  chunks: number
  payloadBytes: number
  /** Output bytes before this batch since the process began to write. */
  startByte: number
}
interface Segment {
  path: string
  file: FileHandle
  sizeBytes: number
}

/**
 * Output of one process on disk, oldest first. When `limitBytes` is reached the oldest eighth is
 * dropped. Files are made when the first chunk comes and removed by `dispose`.
 */
export class OutputSpool {
  /** Told when the oldest output is dropped: its last number and the bytes written up to there. */
  onDropped: (throughSeq: number, bytesThrough: number) => void = () => {}
  private readonly segments: Segment[] = []
  private readonly batches: Batch[] = []
  private segmentsMade = 0
  private isDisposed = false

  constructor(
    /** Absolute path that the files' names start with. */
    private readonly pathPrefix: string,
    private readonly limitBytes: number,
  ) {}

  /** Highest sequence number on disk, 0 while nothing is. */
  get lastSeq(): number {
    return this.batches.at(-1)?.lastSeq ?? 0
  }

  /**
   * Appends chunks in order. One call at a time. Rejects with the system's error when they could not
   * be written whole; nothing of them can then be read.
   */
  async append(chunks: readonly OutputChunk[], startByte: number): Promise<void> {
    const first = chunks[0]
    const last = chunks.at(-1)
    if (!first || !last || this.isDisposed) return
    const record = encodeChunks(chunks)
    const segment = await this.segmentFor(record.length)
    const offset = segment.sizeBytes
    await writeAll(segment.file, record, offset)
    segment.sizeBytes += record.length
    this.batches.push({
      segment,
      offset,
      sizeBytes: record.length,
      firstSeq: first.seq,
      lastSeq: last.seq,
      chunks: chunks.length,
      payloadBytes: record.length - HEAD_BYTES * chunks.length,
      startByte,
    })
  }

  /**
   * The chunks after `afterSeq` of the first batch that has any, undefined when there is none.
   */
  async read(afterSeq: number): Promise<OutputChunk[] | undefined> {
    const batch = this.batches[this.batchAfter(afterSeq)]
    if (!batch) return undefined
    const record = Buffer.allocUnsafe(batch.sizeBytes)
    await readAll(batch.segment.file, record, batch.offset)
    return decodeChunks(record).filter((chunk) => chunk.seq > afterSeq)
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
    const limit = Math.floor(this.limitBytes / SEGMENTS)
    const current = this.segments.at(-1)
    if (current && current.sizeBytes + sizeBytes <= limit) return current
    const path = `${this.pathPrefix}.${this.segmentsMade++}`
    // Exclusive and private: somebody else's file of that name is never written into.
    const segment = { path, file: await open(path, 'wx+', 0o600), sizeBytes: 0 }
    this.segments.push(segment)
    if (this.segments.length > SEGMENTS) await this.dropOldest()
    return segment
  }

  private async dropOldest(): Promise<void> {
    const oldest = this.segments.shift()
    if (!oldest) return
    let dropped: Batch | undefined
    while (this.batches[0]?.segment === oldest) dropped = this.batches.shift()
    if (dropped) this.onDropped(dropped.lastSeq, dropped.startByte + dropped.payloadBytes)
    await remove(oldest)
  }
}

async function remove({ path, file }: Segment): Promise<void> {
  // The file may be gone already (a cleaned temporary folder); the space is free either way.
  await unlink(path).catch(() => {})
  await file.close().catch(() => {})
}

function encodeChunks(chunks: readonly OutputChunk[]): Buffer {
  const size = chunks.reduce((sum, chunk) => sum + HEAD_BYTES + chunk.bytes.length, 0)
  const record = Buffer.allocUnsafe(size)
  let at = 0
  for (const { seq, stream, bytes } of chunks) {
    record[at] = STREAMS.indexOf(stream)
    record.writeUInt32LE(bytes.length, at + 1)
    record.writeUIntLE(seq, at + 5, 6)
    bytes.copy(record, at + HEAD_BYTES)
    at += HEAD_BYTES + bytes.length
  }
  return record
}

function decodeChunks(record: Buffer): OutputChunk[] {
  const chunks: OutputChunk[] = []
  for (let at = 0; at < record.length;) {
    const length = record.readUInt32LE(at + 1)
    const start = at + HEAD_BYTES
    chunks.push({
      seq: record.readUIntLE(at + 5, 6),
      stream: STREAMS[record[at] as number] as OutputStream,
      bytes: record.subarray(start, start + length),
    })
    at = start + length
  }
  return chunks
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten
}

async function readAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done)
    if (bytesRead === 0) throw new Error('the spool file is shorter than it was')
    done += bytesRead
  }
}
