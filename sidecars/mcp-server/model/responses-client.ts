/** Streams one response from a server with the Responses API (POST {base_url}/responses, SSE). */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { EventStreamReader } from './event-stream.ts'
import { failureOfResponse, failureOfStatus, ModelFailure } from './model-failure.ts'
import { KeychainError } from './keychain.ts'
import { MissingKey, providerHeaders, type ModelProvider } from './provider.ts'
import { SystemSecrets, type ProviderSecrets } from './provider-secrets.ts'

/** One event of the stream, with `type` such as `response.output_item.done`. */
export interface ResponseEvent {
  type: string
  [member: string]: unknown
}

export interface StreamOptions {
  signal: AbortSignal
  headers: Record<string, string>
}

const BACK_OFF_BASE_MS = 200
/** How long a server may take to end an answer after `response.completed`. */
const LINGER_MS = 1000
/** An error answer longer than this is cut; it goes into a message for people. */
const MAX_ERROR_BODY_BYTES = 64 * 1024

/** Attempt n (from 1): 200 ms x 2^(n-1) with 10 % jitter; a delay the server asked for wins. */
export function backOffMs(attempt: number, serverDelayMs: number | null, random: () => number = Math.random): number {
  return serverDelayMs ?? Math.round(BACK_OFF_BASE_MS * 2 ** (attempt - 1) * (0.9 + 0.2 * random()))
}

/** Keeps connections to model servers alive between requests; `close` ends them. */
export class ResponsesClient {
  private readonly http = new HttpAgent({ keepAlive: true, noDelay: true })
  private readonly https = new HttpsAgent({ keepAlive: true, noDelay: true })

  constructor(private readonly secrets: ProviderSecrets = new SystemSecrets()) {}

  /**
   * Sends `body` and yields the events in arrays as they arrive together. Ends after
   * `response.completed`; every other end throws ModelFailure. Transport errors and 5xx before the
   * first byte of the answer are tried again silently (`request_max_retries`); a broken stream is not:
   * the caller knows what to keep of it. Aborting closes the connection at once.
   */
  async *stream(provider: ModelProvider, body: string, options: StreamOptions): AsyncGenerator<ResponseEvent[]> {
    const response = await this.connect(provider, body, options)
    yield* readEvents(response, provider.stream_idle_timeout_ms, options.signal)
  }

  /** GET {base_url}/models; proves address and key. @throws ModelFailure */
  async listModels(provider: ModelProvider, options: StreamOptions): Promise<string[]> {
    const response = await this.send(provider, 'GET', '/models', undefined, options)
    const text = await readText(response)
    if (response.statusCode !== 200) throw failureOfStatus(response.statusCode ?? 0, text, null)
    try {
      const list = (JSON.parse(text) as { data?: { id?: unknown }[] }).data ?? []
      return list.flatMap((model) => (typeof model.id === 'string' ? [model.id] : []))
    } catch {
      throw new ModelFailure(
        'other',
        `${provider.base_url}/models did not answer JSON; is the address right, with /v1 at its end?`,
      )
    }
  }

  /** Connections kept open for the next request. */
  get idleConnections(): number {
    return [this.http, this.https].reduce(
      (sum, agent) => sum + Object.values(agent.freeSockets).reduce((n, sockets) => n + (sockets?.length ?? 0), 0),
      0,
    )
  }

  close(): void {
    this.http.destroy()
    this.https.destroy()
  }

  private async connect(provider: ModelProvider, body: string, options: StreamOptions): Promise<IncomingMessage> {
    for (let attempt = 1; ; attempt++) {
      const failure = await this.attempt(provider, body, options)
      if (!(failure instanceof ModelFailure)) return failure
      options.signal.throwIfAborted()
      const again = failure.retryable && attempt <= provider.request_max_retries && !isStreamRetry(failure)
      if (!again) throw failure
      await delay(backOffMs(attempt, failure.retryAfterMs), options.signal)
    }
  }

  private async attempt(
    provider: ModelProvider,
    body: string,
    options: StreamOptions,
  ): Promise<IncomingMessage | ModelFailure> {
    try {
      const response = await this.send(provider, 'POST', '/responses', body, options)
      const status = response.statusCode ?? 0
      if (status >= 200 && status < 300) return response
      return failureOfStatus(status, await readText(response), retryAfterMs(response))
    } catch (error) {
      options.signal.throwIfAborted()
      if (error instanceof MissingKey || error instanceof KeychainError)
        return new ModelFailure('unauthorized', error.message)
      if (error instanceof ModelFailure) return error
      return new ModelFailure(
        { httpConnectionFailed: { httpStatusCode: null } },
        `cannot reach ${provider.name} at ${provider.base_url}: ${(error as Error).message}`,
        { retryable: true, cause: error },
      )
    }
  }

  private async send(
    provider: ModelProvider,
    method: string,
    path: string,
    body: string | undefined,
    options: StreamOptions,
  ): Promise<IncomingMessage> {
    const url = new URL(provider.base_url + path)
    for (const [name, value] of Object.entries(provider.query_params)) url.searchParams.set(name, value)
    const secure = url.protocol === 'https:'
    const headers: Record<string, string | number> = {
      ...options.headers,
      ...(await providerHeaders(provider, this.secrets)),
      accept: body === undefined ? 'application/json' : 'text/event-stream',
    }
    if (body !== undefined) {
      headers['content-type'] = 'application/json'
      headers['content-length'] = Buffer.byteLength(body)
    }
    return new Promise((resolve, reject) => {
      const request = (secure ? httpsRequest : httpRequest)(
        url,
        { method, headers, agent: secure ? this.https : this.http, signal: options.signal },
        resolve,
      )
      request.setTimeout(provider.stream_idle_timeout_ms, () =>
        request.destroy(new Error(`no answer for ${provider.stream_idle_timeout_ms} ms`)),
      )
      request.on('error', reject)
      request.end(body)
    })
  }
}

/** 401 and 429 are repeated like a broken stream, visibly, by the caller. */
function isStreamRetry(failure: ModelFailure): boolean {
  if (typeof failure.kind === 'string') return false
  if ('responseTooManyFailedAttempts' in failure.kind) return true
  return 'httpConnectionFailed' in failure.kind && failure.kind.httpConnectionFailed.httpStatusCode === 401
}

async function* readEvents(
  response: IncomingMessage,
  idleTimeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<ResponseEvent[]> {
  const reader = new EventStreamReader()
  let finished = false
  response.setTimeout(idleTimeoutMs, () => response.destroy(new Error('idle timeout waiting for SSE')))
  try {
    for await (const chunk of response.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const events: ResponseEvent[] = []
      reader.push(chunk, (data) => {
        const event = eventOf(data)
        if (event) events.push(event)
      })
      const endsAt = events.findIndex((event) => isFinal(event.type))
      if (endsAt === -1) {
        if (events.length > 0) yield events
        continue
      }
      finished = true
      const final = events[endsAt]!
      const completed = final.type === 'response.completed'
      const kept = events.slice(0, completed ? endsAt + 1 : endsAt)
      if (kept.length > 0) yield kept
      if (!completed) throw finalFailure(final)
      return
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ModelFailure) throw error
    throw disconnected((error as Error).message, error)
  } finally {
    release(response, finished)
  }
  throw disconnected('stream closed before response.completed', undefined)
}

/**
 * A finished answer is read to its end so that the connection can be used again; a server that keeps
 * it open, and every other answer, is cut off.
 */
function release(response: IncomingMessage, finished: boolean): void {
  if (!finished) {
    response.destroy()
    return
  }
  const cut = setTimeout(() => response.destroy(), LINGER_MS)
  response.once('close', () => clearTimeout(cut))
  response.resume()
}

const disconnected = (detail: string, cause: unknown): ModelFailure =>
  new ModelFailure(
    { responseStreamDisconnected: { httpStatusCode: null } },
    `stream disconnected before completion: ${detail}`,
    {
      retryable: true,
      cause,
    },
  )

const isFinal = (type: string): boolean =>
  type === 'response.completed' || type === 'response.failed' || type === 'response.incomplete'

function finalFailure(event: ResponseEvent): ModelFailure {
  const response = event.response as
    | { error?: Record<string, unknown>; incomplete_details?: { reason?: unknown } }
    | undefined
  if (event.type === 'response.failed') return failureOfResponse(response?.error)
  const reason = response?.incomplete_details?.reason
  return disconnected(
    `Incomplete response returned, reason: ${typeof reason === 'string' ? reason : 'unknown'}`,
    undefined,
  )
}

/** Unreadable data (a keep-alive word, `[DONE]`) is no event. */
function eventOf(data: string): ResponseEvent | null {
  try {
    const event = JSON.parse(data) as ResponseEvent | null
    return typeof event?.type === 'string' ? event : null
  } catch {
    return null
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= MAX_ERROR_BODY_BYTES) parts.push(chunk)
  }
  return Buffer.concat(parts).toString('utf8')
}

function retryAfterMs(response: IncomingMessage): number | null {
  const seconds = Number(response.headers['retry-after'])
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}

/** Rejects with the signal's reason when aborted. */
function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
