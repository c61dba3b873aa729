import type { Readable } from 'node:stream'
import type { HttpRequestParams } from '../../protocol/exec-http.ts'
import { BulkResult } from '../wire/bulk-result.ts'
import type { Disposable, WireConnection } from '../wire/wire-connection.ts'
import { WireError } from '../wire/wire-error.ts'
import { decodeAnswer } from './body-decoding.ts'
import { pumpBody } from './body-pump.ts'
import { HttpFailure, sendCall } from './follow-redirects.ts'
import { readHttpCall, type Environment, type HttpCall } from './http-call.ts'

/** A whole body is held in memory until the last byte; larger ones must be streamed. */
const MAX_WHOLE_BODY_BYTES = 128 * 1024 * 1024

/** The requests of one connection. They end with it. */
export class HttpRequests implements Disposable {
  private readonly running = new Map<string, Set<AbortController>>()
  /** Ids whose body is being streamed; a second stream of that name is refused. */
  private readonly streaming = new Set<string>()

  async run(params: HttpRequestParams, environment: Environment, connection: WireConnection): Promise<unknown> {
    const { requestId, streamResponse } = params
    const call = readHttpCall(params, environment)
    if (streamResponse && this.streaming.has(requestId))
      throw new WireError('invalidParams', `http/request streamResponse requestId \`${requestId}\` is already active`)
    const end = this.begin(requestId, call.timeoutMs, streamResponse)
    try {
      const answer = decodeAnswer(await sendWithin(call, environment, end.signal))
      const head = { status: answer.status, headers: answer.headers, bodyBase64: '' }
      if (!streamResponse) return wholeAnswer(head, await readWhole(answer.body).finally(end.release))
      // The result leaves first: it tells the client what the deltas belong to.
      setImmediate(() => void pumpBody(answer.body, requestId, connection).finally(end.release))
      return head
    } catch (error) {
      end.release()
      throw error instanceof HttpFailure ? new WireError('internal', `http/request failed: ${error.message}`) : error
    }
  }

  cancel(requestId: string): void {
    for (const controller of this.running.get(requestId) ?? []) controller.abort()
  }

  dispose(): void {
    for (const requestId of this.running.keys()) this.cancel(requestId)
  }

  /** The signal fires on cancel, on the end of the connection, and when the time is up. */
  private begin(requestId: string, timeoutMs: number | null, isStream: boolean) {
    const controller = new AbortController()
    const sameName = this.running.get(requestId) ?? new Set()
    this.running.set(requestId, sameName.add(controller))
    if (isStream) this.streaming.add(requestId)
    if (timeoutMs === 0) controller.abort()
    // Timers end at 2^31 ms; nobody waits 24 days.
    const timer =
      timeoutMs === null || timeoutMs > 0x7fff_ffff ? undefined : setTimeout(() => controller.abort(), timeoutMs)
    const release = () => {
      clearTimeout(timer)
      sameName.delete(controller)
      if (sameName.size === 0 && this.running.get(requestId) === sameName) this.running.delete(requestId)
      if (isStream) this.streaming.delete(requestId)
    }
    return { signal: controller.signal, release }
  }
}

async function sendWithin(call: HttpCall, environment: Environment, signal: AbortSignal) {
  if (signal.aborted) throw new HttpFailure('request timed out')
  return sendCall(call, environment, signal)
}

function wholeAnswer(head: { status: number; headers: unknown }, body: Buffer): BulkResult {
  const { status, headers } = head
  return new BulkResult(`{"status":${status},"headers":${JSON.stringify(headers)},"bodyBase64":"`, body, '"}')
}

async function readWhole(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length
      if (sizeBytes > MAX_WHOLE_BODY_BYTES) throw new RangeError('too large')
      chunks.push(chunk)
    }
  } catch (error) {
    const why =
      error instanceof RangeError
        ? `it is over ${MAX_WHOLE_BODY_BYTES} bytes; ask with streamResponse`
        : 'error decoding response body'
    throw new WireError('internal', `failed to read http/request response body: ${why}`)
  }
  return Buffer.concat(chunks)
}
