import { randomUUID } from 'node:crypto'
import { object } from '../../protocol/decode.ts'
import { httpRequestResult, type HttpHeader } from '../../protocol/exec-http.ts'
import { ConnectionLost } from './exec-errors.ts'
import type { ExecSession } from './exec-session.ts'
import { BodyStream } from './http-body.ts'

export interface HttpCall {
  method?: string
  url: string
  /** `valueEnvVar` appends a variable of the server's environment, so that a secret stays there. */
  headers?: (HttpHeader & { valueEnvVar?: string })[]
  body?: Uint8Array
  timeoutMs?: number
  redirects?: 'follow' | 'stop'
  signal?: AbortSignal
}
export interface HttpAnswer<Body> {
  status: number
  headers: HttpHeader[]
  body: Body
}

const nothing = object({})

/** HTTP as the exec server's machine sees it. */
export class RemoteHttp {
  constructor(private readonly session: (signal?: AbortSignal) => Promise<ExecSession>) {}

  /** The whole answer at once. HTTP error statuses are answers; no answer rejects with RpcError. */
  async request(call: HttpCall): Promise<HttpAnswer<Uint8Array>> {
    const session = await this.session(call.signal)
    const requestId = randomUUID()
    const answer = await this.withCancel(session, requestId, call.signal, () =>
      session.call('http/request', paramsOf(call, requestId, false), httpRequestResult, { signal: call.signal }),
    )
    return { ...headOf(answer), body: Buffer.from(answer.bodyBase64, 'base64') }
  }

  /**
   * The answer once its headers are here; the body as it comes. Breaking off the iteration, or the
   * signal, ends the request. A lost connection ends it with an error: bodies are not resumed.
   */
  async stream(call: HttpCall): Promise<HttpAnswer<AsyncIterable<Uint8Array>>> {
    const session = await this.session(call.signal)
    const requestId = randomUUID()
    const body = new BodyStream(() => session.bodies.delete(requestId))
    session.bodies.set(requestId, body)
    const cancel = (reason: Error) => {
      body.fail(reason)
      void cancelRequest(session, requestId)
    }
    try {
      const answer = await this.withCancel(session, requestId, call.signal, () =>
        session.call('http/request', paramsOf(call, requestId, true), httpRequestResult, { signal: call.signal }),
      )
      return { ...headOf(answer), body: readUntilBroken(body, cancel, call.signal) }
    } catch (error) {
      session.bodies.delete(requestId)
      throw error
    }
  }

  private async withCancel<R>(
    session: ExecSession,
    requestId: string,
    signal: AbortSignal | undefined,
    run: () => Promise<R>,
  ): Promise<R> {
    try {
      return await run()
    } catch (error) {
      if (signal?.aborted && !(error instanceof ConnectionLost)) void cancelRequest(session, requestId)
      throw error
    }
  }
}

/** Only Gatehouse's own server knows this method; on others the request runs to its end unheard. */
async function cancelRequest(session: ExecSession, requestId: string): Promise<void> {
  await session.call('http/cancel', { requestId }, nothing).catch(() => {})
}

async function* readUntilBroken(
  body: BodyStream,
  cancel: (reason: Error) => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  const onAbort = () => cancel(signal?.reason as Error)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  let isComplete = false
  try {
    yield* body
    isComplete = true
  } finally {
    signal?.removeEventListener('abort', onAbort)
    if (!isComplete) cancel(new Error('the body was not read to its end'))
  }
}

function paramsOf(call: HttpCall, requestId: string, streamResponse: boolean): Record<string, unknown> {
  return {
    method: call.method ?? 'GET',
    url: call.url,
    headers: call.headers ?? [],
    bodyBase64: call.body === undefined ? null : Buffer.from(call.body).toString('base64'),
    timeoutMs: call.timeoutMs ?? null,
    redirectPolicy: call.redirects ?? 'follow',
    requestId,
    streamResponse,
  }
}

const headOf = ({ status, headers }: { status: number; headers: HttpHeader[] }) => ({ status, headers })
