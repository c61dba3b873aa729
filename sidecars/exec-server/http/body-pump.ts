import type { Readable } from 'node:stream'
import { MAX_BODY_DELTA_BYTES, type BodyDelta } from '../../protocol/exec-http.ts'
import type { WireConnection } from '../wire/wire-connection.ts'

/** Small enough to keep other messages of the connection moving. */
const PIECE_BYTES = Math.min(256 * 1024, MAX_BODY_DELTA_BYTES)

/**
 * Sends a body as numbered deltas, as fast as the client takes them, and a last one that says it is
 * done or that it broke. Never rejects.
 */
export async function pumpBody(body: Readable, requestId: string, connection: WireConnection): Promise<void> {
  let seq = 0
  const send = (bytes: Buffer, last: Partial<BodyDelta> = {}): boolean => {
    const delta: BodyDelta = {
      requestId,
      seq: ++seq,
      deltaBase64: bytes.toString('base64'),
      done: false,
      error: null,
      ...last,
    }
    return connection.notify('http/request/bodyDelta', delta)
  }
  let error: string | null = null
  try {
    for await (const chunk of body as AsyncIterable<Buffer>)
      for (let from = 0; from < chunk.length; from += PIECE_BYTES)
        if (!send(chunk.subarray(from, from + PIECE_BYTES))) await connection.drained()
  } catch {
    error = 'error decoding response body'
  }
  send(Buffer.alloc(0), { done: true, error })
}
