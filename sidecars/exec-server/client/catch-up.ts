import type { ProcessReadReply } from '../../protocol/exec-process.ts'
import type { EventOrder } from './event-order.ts'
import type { OutputChunk } from './process-event.ts'

/** Enough for the whole output that the reference server keeps, so that it comes as one picture. */
const PAGE_BYTES = 1024 * 1024
const BATCH_BYTES = 4 * 1024 * 1024

/** Reads retained output after a number. */
export type ReadPage = (afterSeq: number, maxBytes: number) => Promise<ProcessReadReply>

/** Decodes the chunks of a read. */
export function chunksOf(reply: ProcessReadReply): OutputChunk[] {
  return reply.chunks.map(({ seq, stream, chunk }) => ({
    kind: 'output',
    seq,
    stream,
    bytes: Buffer.from(chunk, 'base64'),
  }))
}

/**
 * Reads from the server what `order` has not seen and feeds it, until nothing is left to read.
 * Returns true when the server says that the process is closed.
 */
export async function catchUp(order: EventOrder, exitIsKnown: () => boolean, readPage: ReadPage): Promise<boolean> {
  for (;;) {
    const batch: OutputChunk[] = []
    let batchBytes = 0
    let cursor = order.nextSeq - 1
    let reply: ProcessReadReply
    do {
      reply = await readPage(cursor, PAGE_BYTES)
      for (const chunk of chunksOf(reply)) {
        batch.push(chunk)
        batchBytes += chunk.bytes.length
        cursor = Math.max(cursor, chunk.seq)
      }
    } while (reply.chunks.length > 0 && batchBytes < BATCH_BYTES)
    const isComplete = reply.chunks.length === 0
    feed(order, batch, reply, isComplete, exitIsKnown())
    if (isComplete) return reply.closed
  }
}

/**
 * A read names no numbers for exit and close: close is the last number of all, and the exit is the
 * one number that is missing. Output that the server let go leaves holes too, but at the old end, so
 * the newest hole is the exit's.
 */
function feed(
  order: EventOrder,
  chunks: OutputChunk[],
  reply: ProcessReadReply,
  isComplete: boolean,
  exitIsKnown: boolean,
): void {
  const lastChunkSeq = chunks.at(-1)?.seq ?? 0
  const closeSeq = isComplete && reply.closed ? reply.nextSeq - 1 : null
  const endSeq = isComplete ? (closeSeq ?? reply.nextSeq) : lastChunkSeq + 1
  const exitSeq = reply.exited && !exitIsKnown ? newestHole(order, chunks, endSeq) : null
  const exit = { exitCode: reply.exitCode ?? null, sandboxDenied: reply.sandboxDenied }
  for (const chunk of chunks) {
    // Given up piece by piece: what waits behind a hole would otherwise pile up.
    if (exitSeq !== null && exitSeq >= order.nextSeq && exitSeq < chunk.seq) {
      order.skipTo(exitSeq)
      order.add({ kind: 'exited', seq: exitSeq, ...exit })
    }
    order.skipTo(chunk.seq)
    order.add(chunk)
  }
  if (exitSeq !== null && exitSeq >= order.nextSeq) {
    order.skipTo(exitSeq)
    order.add({ kind: 'exited', seq: exitSeq, ...exit })
  }
  order.skipTo(endSeq)
  if (closeSeq !== null) order.add({ kind: 'closed', seq: closeSeq })
}

/** The highest number below `endSeq` that neither arrived nor was read, or null. */
function newestHole(order: EventOrder, chunks: OutputChunk[], endSeq: number): number | null {
  const present = new Set(chunks.map((chunk) => chunk.seq))
  for (let seq = endSeq - 1; seq >= order.nextSeq; seq--) if (!present.has(seq) && !order.isWaiting(seq)) return seq
  return null
}
