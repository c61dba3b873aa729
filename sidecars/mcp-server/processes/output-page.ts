import type { OutputStream } from '../../protocol/host-channel.ts'
import type { StartedProcess } from './exec-port.ts'
import type { OutputCursor } from './output-cursor.ts'
import { StreamText } from './stream-text.ts'

/** Consecutive bytes of one stream. */
export interface OutputPiece {
  stream: OutputStream
  bytes: Buffer
}
export interface OutputPage {
  pieces: OutputPiece[]
  next: OutputCursor
  /** Records before this page that are no longer kept. */
  gap: { fromSeq: number; toSeq: number } | null
  /** Everything was read and nothing more will come. */
  atEnd: boolean
}
export interface PageRequest {
  cursor: OutputCursor
  maxBytes: number
  waitMs: number
  /** The number that belongs to the exit, when known: a hole that is none. */
  exitSeq: number | null
}

/**
 * Reads the bytes behind a cursor: at most maxBytes, exact, in order of arrival; waits up to waitMs
 * when there are none yet. @throws RpcError when the exec server no longer keeps the process
 */
export async function readPage(
  process: Pick<StartedProcess, 'read'>,
  { cursor, maxBytes, waitMs, exitSeq }: PageRequest,
  signal: AbortSignal,
): Promise<OutputPage> {
  const read = await process.read(cursor.afterSeq, { maxBytes: maxBytes + cursor.offset, waitMs, signal })
  if (read.failure) throw read.failure
  const pieces: OutputPiece[] = []
  let next = { afterSeq: cursor.afterSeq, offset: cursor.offset }
  let room = maxBytes
  let isCut = false
  for (const { seq, stream, bytes } of read.chunks) {
    // After a gap the offset belongs to a chunk that is gone.
    const from = seq === cursor.afterSeq + 1 ? cursor.offset : 0
    const part = bytes.subarray(from, from + room)
    if (part.length > 0) append(pieces, stream, part)
    room -= part.length
    isCut = from + part.length < bytes.length
    next = isCut ? { afterSeq: seq - 1, offset: from + part.length } : { afterSeq: seq, offset: 0 }
    if (isCut) break
  }
  const firstSeq = read.chunks[0]?.seq
  const gap = firstSeq === undefined ? null : gapBetween(cursor.afterSeq, firstSeq, exitSeq)
  const atEnd = read.closed && !isCut && (await isNothingBehind(process, next.afterSeq, signal))
  return { pieces, next: { ...next, pending: {} }, gap, atEnd }
}

/** A page as text on character borders: what is cut in two is held back for the next page. */
export function pageText(
  page: OutputPage,
  cursor: OutputCursor,
): { text: string; next: OutputCursor; isLossy: boolean } {
  const text = new StreamText(page.gap ? {} : cursor.pending)
  let shown = page.pieces.map(({ stream, bytes }) => text.push(stream, bytes)).join('')
  if (page.atEnd) shown += text.end()
  return { text: shown, next: { ...page.next, pending: text.unfinished() }, isLossy: text.isLossy }
}

/** A bounded read does not tell whether it gave the last chunk; the next one does. */
async function isNothingBehind(process: Pick<StartedProcess, 'read'>, afterSeq: number, signal: AbortSignal) {
  const { chunks, closed } = await process.read(afterSeq, { maxBytes: 1, waitMs: 0, signal })
  return closed && chunks.length === 0
}

function gapBetween(afterSeq: number, firstSeq: number, exitSeq: number | null): OutputPage['gap'] {
  const isOnlyExit = firstSeq === afterSeq + 2 && exitSeq === afterSeq + 1
  return firstSeq === afterSeq + 1 || isOnlyExit ? null : { fromSeq: afterSeq + 1, toSeq: firstSeq - 1 }
}

function append(pieces: OutputPiece[], stream: OutputStream, bytes: Uint8Array): void {
  const last = pieces.at(-1)
  if (last?.stream === stream) last.bytes = Buffer.concat([last.bytes, bytes])
  else pieces.push({ stream, bytes: Buffer.from(bytes) })
}
