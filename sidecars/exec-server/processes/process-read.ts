import type { processReadParams } from '../../protocol/exec-process.ts'
import type { Infer } from '../../protocol/decode.ts'
import type { Session } from '../sessions/session.ts'
import { base64Length } from '../wire/base64-text.ts'
import { writeBase64 } from '../wire/bulk-result.ts'
import { WireError } from '../wire/wire-error.ts'
import { WrittenResult } from '../wire/written-result.ts'
import type { ManagedProcess } from './managed-process.ts'
import type { OutputChunk } from './output-log.ts'

/**
 * Most output in one answer: the client takes 64 MiB of message, which is 48 MiB before base64, and
 * 262,144 JSON values, four a chunk.
 */
const MAX_ANSWER_BYTES = 40 * 1024 * 1024
const MAX_ANSWER_CHUNKS = 50_000

/**
 * `process/read`: output after a cursor; waits for some when asked to. With `maxBytes` it pages from
 * the oldest that is kept; without it answers with everything, or the newest when that is too much.
 */
export async function readProcess(
  { processId, afterSeq, maxBytes, waitMs }: Infer<typeof processReadParams>,
  session: Session,
  signal: AbortSignal,
): Promise<unknown> {
  const process = session.find(processId)
  if (!process) throw new WireError('invalidRequest', `unknown process id ${processId}`)
  if (process.state === 'starting') throw new WireError('invalidRequest', `process id ${processId} is starting`)
  const endsAtMs = performance.now() + waitMs
  const pageBytes = Math.min(maxBytes ?? MAX_ANSWER_BYTES, MAX_ANSWER_BYTES)
  for (;;) {
    const { log, eventCount } = process
    const from = maxBytes === undefined ? log.cursorForNewest(afterSeq, MAX_ANSWER_BYTES, MAX_ANSWER_CHUNKS) : afterSeq
    const { chunks } = await log.read(from, pageBytes, MAX_ANSWER_CHUNKS)
    const isOver = process.isClosed || (process.hasExited && process.exitedSeq > afterSeq)
    const leftMs = endsAtMs - performance.now()
    const last = chunks.at(-1)
    if (maxBytes !== undefined) process.readerPace.asked(last ? last.startByte + last.bytes.length : log.totalBytes)
    if (last || isOver || leftMs <= 0 || signal.aborted) {
      return answer(chunks, maxBytes !== undefined && last ? last.seq + 1 : log.nextSeq, process)
    }
    await process.eventAfter(eventCount, leftMs, signal)
  }
}

function answer(chunks: readonly OutputChunk[], nextSeq: number, process: ManagedProcess): WrittenResult {
  const heads = chunks.map(({ seq, stream }, i) => `${i > 0 ? ',' : ''}{"seq":${seq},"stream":"${stream}","chunk":"`)
  const { hasExited, exitCode, isClosed, sandboxDenied } = process
  const tail =
    `],"nextSeq":${nextSeq},"exited":${hasExited},"exitCode":${exitCode},"closed":${isClosed},` +
    `"failure":null,"sandboxDenied":${sandboxDenied}}`
  const textBytes = heads.reduce((sum, head) => sum + head.length + CHUNK_END.length, START.length + tail.length)
  const sizeBytes = chunks.reduce((sum, { bytes }) => sum + base64Length(bytes.length), textBytes)
  return new WrittenResult(sizeBytes, (target, offset) => {
    let at = offset + target.write(START, offset, START.length, 'latin1')
    chunks.forEach(({ bytes }, i) => {
      const head = heads[i] as string
      at += target.write(head, at, head.length, 'latin1')
      at = writeBase64(target, at, bytes)
      at += target.write(CHUNK_END, at, CHUNK_END.length, 'latin1')
    })
    return at + target.write(tail, at, tail.length, 'latin1')
  })
}
const START = '{"chunks":['
const CHUNK_END = '"}'
