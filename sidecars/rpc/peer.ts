import { DecodeError, type Decoder } from '../protocol/decode.ts'
import { RPC_ERROR } from '../protocol/errors.ts'
import { formatMessage, MalformedMessage, parseMessage, type RpcId, type RpcMessage } from './json-rpc.ts'
import { RpcError } from './rpc-error.ts'
import type { CloseReason, Transport, TransportProblem } from './transport.ts'

/** What a request handler gets besides its params. */
export interface RequestContext {
  readonly id: RpcId
  /** Fires when the caller cancels or the transport closes. */
  readonly signal: AbortSignal
  readonly peer: RpcPeer
}
export type RequestHandler<P, R> = (params: P, context: RequestContext) => R | Promise<R>
export type NotificationHandler<P> = (params: P) => void

export interface RpcPeerOptions {
  /** Requests of the other side handled at once; more are answered `overloaded`. Default 1024. */
  maxConcurrentRequests?: number
  /** Malformed messages, unknown notifications, throwing handlers, transport problems. */
  onProblem?: (problem: RpcProblem) => void
}
export interface RpcProblem {
  kind:
    | 'malformed'
    | 'unknown-notification'
    | 'bad-notification'
    | 'unmatched-response'
    | 'handler'
    | TransportProblem['code']
  message: string
}
export interface RequestOptions {
  /** Local limit; on expiry the other side is told to cancel. Default none. */
  timeoutMs?: number
  signal?: AbortSignal
}

const CANCEL_METHOD = '$/cancelRequest'

interface Pending {
  resolve(result: unknown): void
  reject(error: RpcError): void
}

/**
 * One end of a bidirectional JSON-RPC conversation.
 *
 * Messages are handled in order of arrival: a handler starts before the next message is looked at.
 * A malformed message is reported, answered with `invalidRequest` and survived. When the transport
 * closes, every request in flight fails with one named error (`disconnected`), every running handler's
 * signal fires, and later requests fail at once.
 */
export class RpcPeer {
  /** Resolves once with why the transport ended. */
  readonly closed: Promise<CloseReason>
  private readonly requests = new Map<string, RequestHandler<never, unknown>>()
  private readonly notifications = new Map<string, NotificationHandler<never>>()
  private readonly pending = new Map<RpcId, Pending>()
  private readonly running = new Map<RpcId, AbortController>()
  private nextId = 1
  private closeReason: CloseReason | undefined
  private resolveClosed!: (reason: CloseReason) => void

  constructor(
    readonly transport: Transport,
    private readonly options: RpcPeerOptions = {},
  ) {
    this.closed = new Promise((resolve) => (this.resolveClosed = resolve))
  }

  /** Registers a method. Params go through `decoder`; a DecodeError becomes `invalidParams` naming the field. */
  onRequest<P, R>(method: string, decoder: Decoder<P>, handler: RequestHandler<P, R>): this {
    this.requests.set(method, ((params: unknown, context) =>
      handler(decoder(params, 'params'), context)) as RequestHandler<never, unknown>)
    return this
  }

  onNotification<P>(method: string, decoder: Decoder<P>, handler: NotificationHandler<P>): this {
    this.notifications.set(method, ((params: unknown) =>
      handler(decoder(params, 'params'))) as NotificationHandler<never>)
    return this
  }

  /** Starts delivery. Register handlers first. */
  start(): this {
    this.transport.start({
      onMessage: (text) => this.receive(text),
      onProblem: (problem) => this.report({ kind: problem.code, message: problem.message }),
      onClose: (reason) => this.end(reason),
    })
    return this
  }

  /**
   * Sends a request. Rejects with RpcError: the other side's error, `timedOut`, `cancelled` or
   * `disconnected`. The answer is passed through `decoder`.
   */
  async request<R>(method: string, params: unknown, decoder: Decoder<R>, options: RequestOptions = {}): Promise<R> {
    if (this.closeReason) throw this.disconnected()
    options.signal?.throwIfAborted()
    const id = this.nextId++
    const answer = new Promise<unknown>((resolve, reject) => this.pending.set(id, { resolve, reject }))
    const abandon = (code: 'cancelled' | 'timedOut', message: string) => {
      const waiting = this.pending.get(id)
      if (!waiting) return
      this.pending.delete(id)
      this.notify(CANCEL_METHOD, { id })
      waiting.reject(new RpcError(code, message))
    }
    const onAbort = () => abandon('cancelled', `${method} was cancelled`)
    options.signal?.addEventListener('abort', onAbort, { once: true })
    const timer =
      options.timeoutMs === undefined
        ? undefined
        : setTimeout(
            () => abandon('timedOut', `${method} got no answer within ${options.timeoutMs} ms`),
            options.timeoutMs,
          )
    try {
      this.transport.send(formatMessage({ kind: 'request', id, method, params }))
      return decoder(await answer, `${method} result`)
    } finally {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Sends a notification; false means the queue is full and bulk senders should await `drained()`. */
  notify(method: string, params?: unknown): boolean {
    return this.closeReason ? true : this.transport.send(formatMessage({ kind: 'notification', method, params }))
  }

  drained(): Promise<void> {
    return this.transport.drained()
  }

  close(message?: string): void {
    this.transport.close(message)
  }

  private receive(text: string): void {
    let message: RpcMessage
    try {
      message = parseMessage(text)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      this.report({ kind: 'malformed', message: error.message })
      this.sendError(error.id, new RpcError('invalidRequest', error.message))
      return
    }
    switch (message.kind) {
      case 'request':
        void this.handleRequest(message.id, message.method, message.params)
        return
      case 'notification':
        this.handleNotification(message.method, message.params)
        return
      default:
        this.settle(message)
    }
  }

  private async handleRequest(id: RpcId, method: string, params: unknown): Promise<void> {
    const handler = this.requests.get(method) as RequestHandler<unknown, unknown> | undefined
    if (!handler) return this.sendError(id, new RpcError('methodNotFound', `unknown method ${method}`))
    if (this.running.has(id)) return this.sendError(id, new RpcError('invalidRequest', 'id is already in use'))
    if (this.running.size >= (this.options.maxConcurrentRequests ?? 1024))
      return this.sendError(id, new RpcError('overloaded', 'too many requests in flight; retry later'))
    const controller = new AbortController()
    this.running.set(id, controller)
    try {
      const result = await handler(params, { id, signal: controller.signal, peer: this })
      if (!controller.signal.aborted) this.transport.send(formatMessage({ kind: 'result', id, result }))
      else this.sendError(id, new RpcError('cancelled', `${method} was cancelled`))
    } catch (error) {
      this.sendError(id, this.wireError(error, method, controller.signal))
    } finally {
      this.running.delete(id)
    }
  }

  private wireError(error: unknown, method: string, signal: AbortSignal): RpcError {
    if (error instanceof RpcError) return error
    if (error instanceof DecodeError) return new RpcError('invalidParams', error.message, { field: error.path })
    if (signal.aborted) return new RpcError('cancelled', `${method} was cancelled`)
    const message = error instanceof Error ? error.message : String(error)
    this.report({
      kind: 'handler',
      message: `${method}: ${error instanceof Error ? (error.stack ?? message) : message}`,
    })
    return new RpcError('internal', message)
  }

  private handleNotification(method: string, params: unknown): void {
    if (method === CANCEL_METHOD) {
      const id = (params as { id?: RpcId } | null)?.id
      if (id !== undefined) this.running.get(id)?.abort()
      return
    }
    const handler = this.notifications.get(method) as NotificationHandler<unknown> | undefined
    if (!handler) return this.report({ kind: 'unknown-notification', message: method })
    try {
      handler(params)
    } catch (error) {
      const kind = error instanceof DecodeError ? 'bad-notification' : 'handler'
      this.report({ kind, message: `${method}: ${(error as Error).message}` })
    }
  }

  private settle(message: Extract<RpcMessage, { kind: 'result' | 'error' }>): void {
    const waiting = message.id === null ? undefined : this.pending.get(message.id)
    if (!waiting)
      return this.report({ kind: 'unmatched-response', message: `no request with id ${String(message.id)}` })
    this.pending.delete(message.id!)
    if (message.kind === 'result') waiting.resolve(message.result)
    else waiting.reject(RpcError.fromWire(message.error))
  }

  private sendError(id: RpcId | null, error: RpcError): void {
    if (this.closeReason) return
    const data = error.data === undefined ? {} : { data: error.data }
    this.transport.send(
      formatMessage({ kind: 'error', id, error: { code: error.wireCode, message: error.message, ...data } }),
    )
  }

  private end(reason: CloseReason): void {
    this.closeReason = reason
    for (const controller of this.running.values()) controller.abort()
    const waiting = [...this.pending.values()]
    this.pending.clear()
    for (const { reject } of waiting) reject(this.disconnected())
    this.resolveClosed(reason)
  }

  private disconnected(): RpcError {
    return new RpcError(
      'disconnected',
      `${this.transport.label} is closed: ${this.closeReason?.message ?? 'unknown reason'}`,
      undefined,
      {
        cause: this.closeReason?.cause,
      },
    )
  }

  private report(problem: RpcProblem): void {
    this.options.onProblem?.(problem)
  }
}

/** The wire number for "malformed message", for servers that answer before a peer exists. */
export const MALFORMED_CODE = RPC_ERROR.invalidRequest
