import type { Infer } from '../../protocol/decode.ts'
import type { processRead, processReadResult } from '../../protocol/host-channel.ts'
import type { ManagedProcess } from '../processes/managed-process.ts'

/** Chunks in one answer; small ones weigh more than their bytes. */
const MAX_CHUNKS = 4_096

/** `processes/read`: a page of output by cursor, from memory or disk, with what is missing before it. */
export async function readForHost(
  process: ManagedProcess,
  { afterSeq, maxBytes, waitMs }: Infer<typeof processRead>,
  signal: AbortSignal,
): Promise<Infer<typeof processReadResult>> {
  const endsAtMs = performance.now() + waitMs
  for (;;) {
    const { eventCount } = process
    const { chunks, gap } = await process.log.read(afterSeq, maxBytes, MAX_CHUNKS)
    const leftMs = endsAtMs - performance.now()
    const isOver = process.isClosed || process.state === 'failed'
    if (chunks.length > 0 || gap || isOver || leftMs <= 0 || signal.aborted)
      return {
        chunks: chunks.map(({ seq, stream, bytes }) => ({ seq, stream, base64: bytes.toString('base64') })),
        gap,
        nextSeq: (chunks.at(-1)?.seq ?? process.log.nextSeq - 1) + 1,
        state: process.facts(),
      }
    await process.eventAfter(eventCount, leftMs, signal)
  }
}
