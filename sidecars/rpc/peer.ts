import { DecodeError, type Decoder } from '../protocol/decode.ts'
import {
  formatMessage,
  MalformedMessage,
  parseMessage,
  type RpcErrorObject,
  type RpcId,
  type RpcMessage,
} from './json-rpc.ts'
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
  /** Own requests in flight; more fail at once with `overloaded`. Default 65 536. */
  maxPendingRequests?: number
  /** Malformed messages, unknown notifications, throwing handlers, transport problems. */
  onProblem?: (problem: RpcProblem) => void
  /** What a malformed message is answered with; default: its error with its id, or null when unreadable. */
  answerMalformed?: (problem: MalformedMessage) => { id: RpcId | null; error: RpcErrorObject }
  /** What an unknown method is answered with. */
  unknownMethod?: (method: string) => RpcError
}
export interface RpcProblem {
  kind:
    | 'malformed'
    | 'unknown-notification'
    | 'bad-notification'
    | 'unmatched-response'
    | 'handler'
    | 'dropped-notification'
    | TransportProblem['code']
  message: string
}
export interface RequestOptions {
  /** Local limit; on expiry the other side is told to cancel. Default none. */
  timeoutMs?: number
  signal?: AbortSignal
}

const CANCEL_METHOD = '$/cancelRequest'
/** Answers to requests we gave up are expected for a while; older ones are reported as unmatched. */
const MAX_ABANDONED_IDS = 1024

interface Pending {
  resolve(result: unknown): void
  reject(error: RpcError): void
}
type Incoming = Extract<RpcMessage, { kind: 'request' | 'notification' }>

/**
 * One end of a bidirectional JSON-RPC conversation.
 *
 * Messages are handled in order of arrival: a handler starts before the next message is looked at.
 * A malformed message is reported, answered with an error and survived. When the transport closes,
 * every request in flight fails with one named error (`disconnected`), every running handler's signal
 * fires, and later requests fail at once.
 *
 * Flow control: `notify` answers false when the outgoing queue is full, and bulk senders then await
 * `drained()`. Answers are always queued, because two peers that both stopped reading until the other
 * one reads would wait for ever; a side that never reads is cut off by the transport's hard bound.
 */
export class RpcPeer {
  /** Resolves once with why the transport ended. */
  readonly closed: Promise<CloseReason>
  private readonly requests = new Map<string, RequestHandler<never, unknown>>()
  private readonly notifications = new Map<string, NotificationHandler<never>>()
  private readonly pending = new Map<RpcId, Pending>()
  private readonly abandoned = new Set<RpcId>()
  private readonly running = new Map<RpcId, AbortController>()
  private held: Incoming[] | undefined
  private nextId = 1
  private closeReason: CloseReason | undefined
  private resolveClosed!: (reason: CloseReason) => void

  constructor(
    readonly transport: Transport,
    private readonly options: RpcPeerOptions = {},
  ) {
    this.closed = new Promise((resolve) => (this.resolveClosed = resolve))
  }

  get isClosed(): boolean {
    return this.closeReason !== undefined
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
   * Sends a request. Rejects with RpcError: the other side's error, `timedOut`, `cancelled`,
   * `overloaded` or `disconnected`. The answer is passed through `decoder`, whose DecodeError names the
   * method.
   */
  async request<R>(method: string, params: unknown, decoder: Decoder<R>, options: RequestOptions = {}): Promise<R> {
    const { signal, timeoutMs } = options
    if (this.closeReason) throw this.disconnected()
    if (signal?.aborted) throw new RpcError('cancelled', `${method} was cancelled before it was sent`)
    if (this.pending.size >= (this.options.maxPendingRequests ?? 65_536))
      throw new RpcError('overloaded', `${this.transport.label}: too many requests wait for an answer`)
    const id = this.nextId++
    const text = formatMessage({ kind: 'request', id, method, params })
    const answer = new Promise<unknown>((resolve, reject) => this.pending.set(id, { resolve, reject }))
    const onAbort = () => this.abandon(id, new RpcError('cancelled', `${method} was cancelled`))
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(
            () => this.abandon(id, new RpcError('timedOut', `${method} got no answer within ${timeoutMs} ms`)),
            timeoutMs,
          )
    try {
      this.transport.send(text)
      return decoder(await answer, `${method} result`)
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
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

  /**
   * Keeps requests and notifications of the other side back, in order, until the returned function is
   * called; answers to own requests still arrive. For a peer whose handlers are not all registered yet.
   */
  holdIncoming(): () => void {
    this.held ??= []
    return () => {
      const messages = this.held ?? []
      this.held = undefined
      for (const message of messages) this.dispatch(message)
    }
  }

  private receive(text: string): void {
    let message: RpcMessage
    try {
      message = parseMessage(text)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      return this.receiveMalformed(error)
    }
    if (message.kind === 'result' || message.kind === 'error') this.settle(message)
    else if (this.held) this.hold(this.held, message)
    else this.dispatch(message)
  }

  private receiveMalformed(problem: MalformedMessage): void {
    this.report({ kind: 'malformed', message: problem.message })
    if (problem.isAnswer) {
      // Never answered: our error would carry an id of ours and look like an answer to theirs.
      const waiting = problem.id === null ? undefined : this.takePending(problem.id)
      waiting?.reject(new RpcError('internal', `the answer was malformed: ${problem.message}`))
      return
    }
    if (!this.options.answerMalformed) return this.sendError(problem.id, new RpcError(problem.code, problem.message))
    const { id, error } = this.options.answerMalformed(problem)
    this.transport.send(formatMessage({ kind: 'error', id, error }))
  }

  private hold(held: Incoming[], message: Incoming): void {
    if (held.length < (this.options.maxConcurrentRequests ?? 1024)) held.push(message)
    else if (message.kind === 'request') this.sendError(message.id, this.tooMany())
    else this.report({ kind: 'dropped-notification', message: `${message.method}: not ready for notifications yet` })
  }

  private dispatch(message: Incoming): void {
    if (message.kind === 'request') void this.handleRequest(message.id, message.method, message.params)
    else this.handleNotification(message.method, message.params)
  }

  private async handleRequest(id: RpcId, method: string, params: unknown): Promise<void> {
    const handler = this.requests.get(method) as RequestHandler<unknown, unknown> | undefined
    if (!handler)
      return this.sendError(
        id,
        this.options.unknownMethod?.(method) ?? new RpcError('methodNotFound', `unknown method ${method}`),
      )
    if (this.running.has(id))
      return this.sendError(id, new RpcError('invalidRequest', `id ${String(id)} is in use by a running request`))
    if (this.running.size >= (this.options.maxConcurrentRequests ?? 1024)) return this.sendError(id, this.tooMany())
    const controller = new AbortController()
    this.running.set(id, controller)
    try {
      const result = await handler(params, { id, signal: controller.signal, peer: this })
      if (controller.signal.aborted) this.sendError(id, new RpcError('cancelled', `${method} was cancelled`))
      else this.transport.send(formatMessage({ kind: 'result', id, result }))
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
    this.reportThrown(method, error)
    return new RpcError('internal', error instanceof Error ? error.message : String(error))
  }

  private handleNotification(method: string, params: unknown): void {
    if (method === CANCEL_METHOD) return this.cancelRunning((params as { id?: unknown } | null | undefined)?.id)
    const handler = this.notifications.get(method) as ((params: unknown) => unknown) | undefined
    if (!handler) return this.report({ kind: 'unknown-notification', message: method })
    try {
      // An async function passes for a NotificationHandler; its failure must not go unhandled.
      const outcome = handler(params)
      if (outcome instanceof Promise) outcome.catch((error: unknown) => this.reportThrown(method, error))
    } catch (error) {
      if (error instanceof DecodeError)
        this.report({ kind: 'bad-notification', message: `${method}: ${error.message}` })
      else this.reportThrown(method, error)
    }
  }

  private cancelRunning(id: unknown): void {
    if (typeof id === 'number' && !Number.isSafeInteger(id)) {
      // JSON.parse rounded it: cancel only when one running request can be meant.
      const candidates = [...this.running].filter(([running]) => typeof running === 'bigint' && Number(running) === id)
      if (candidates.length === 1) candidates[0]?.[1].abort()
    } else if (typeof id === 'number' || typeof id === 'string') this.running.get(id)?.abort()
  }

  private settle(message: Extract<RpcMessage, { kind: 'result' | 'error' }>): void {
    const waiting = message.id === null ? undefined : this.takePending(message.id)
    if (!waiting) {
      if (message.id !== null && this.abandoned.delete(message.id)) return
      const said = message.kind === 'error' ? `: ${message.error.message}` : ''
      return this.report({ kind: 'unmatched-response', message: `no request with id ${String(message.id)}${said}` })
    }
    if (message.kind === 'result') waiting.resolve(message.result)
    else waiting.reject(RpcError.fromWire(message.error))
  }

  private takePending(id: RpcId): Pending | undefined {
    const waiting = this.pending.get(id)
    this.pending.delete(id)
    return waiting
  }

  private abandon(id: number, error: RpcError): void {
    const waiting = this.takePending(id)
    if (!waiting) return
    this.abandoned.add(id)
    for (const oldest of this.abandoned)
      if (this.abandoned.size > MAX_ABANDONED_IDS) this.abandoned.delete(oldest)
      else break
    this.notify(CANCEL_METHOD, { id })
    waiting.reject(error)
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
    this.held = undefined
    for (const controller of this.running.values()) controller.abort()
    const waiting = [...this.pending.values()]
    this.pending.clear()
    for (const { reject } of waiting) reject(this.disconnected())
    this.resolveClosed(reason)
  }

  private disconnected(): RpcError {
    const because = this.closeReason?.message ?? 'unknown reason'
    return new RpcError('disconnected', `${this.transport.label} is closed: ${because}`, undefined, {
      cause: this.closeReason?.cause,
    })
  }

  private tooMany(): RpcError {
    return new RpcError('overloaded', 'too many requests in flight; retry later')
  }

  private reportThrown(method: string, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.report({ kind: 'handler', message: `${method}: ${text}` })
  }

  private report(problem: RpcProblem): void {
    this.options.onProblem?.(problem)
  }
}
