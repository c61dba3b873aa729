import { DecodeError, unknown, type Decoder } from '../../protocol/decode.ts'
import { RPC_ERROR } from '../../protocol/errors.ts'
import { MalformedMessage, parseMessage, type RpcErrorObject, type RpcId, type RpcMessage } from '../../rpc/json-rpc.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import type { CloseReason } from '../../rpc/transport.ts'
import type { ExecCarrier } from './carrier.ts'
import { ConnectionLost } from './exec-errors.ts'

export interface LinkListener {
  /** Throws DecodeError when a known notification has the wrong shape: the link is then dropped. */
  onNotification(method: string, params: unknown): void
  /** A request of the server; the result or RpcError goes back to it. */
  onRequest(method: string, params: unknown): Promise<unknown>
  /** Something odd that was survived, one sentence for the log. */
  onOddity(message: string): void
}
export interface LinkRequestOptions {
  signal?: AbortSignal
  timeoutMs?: number
}
interface Pending {
  resolve(result: unknown): void
  reject(error: RpcError): void
}

/**
 * How long a silent server is believed in, and how long its answer to the question whether it lives
 * may take. Together under the 60 s after which a frozen server must be noticed.
 */
const SILENCE_MS = 25_000
const STATUS_TIMEOUT_MS = 20_000

/**
 * One physical connection to an exec server. It differs from the house's own peer where the wire is
 * stricter: any notification but `initialized` makes the server hang up, so nothing is ever cancelled
 * by notification, and what the server sends must decode.
 */
export class ExecLink {
  readonly closed: Promise<CloseReason>
  private readonly pending = new Map<RpcId, Pending>()
  private readonly heartbeat: NodeJS.Timeout | undefined
  private nextId = 1
  private heardAtMs = performance.now()
  private closeReason: CloseReason | undefined
  private resolveClosed!: (reason: CloseReason) => void

  constructor(
    private readonly carrier: ExecCarrier,
    private readonly listener: LinkListener,
  ) {
    this.closed = new Promise((resolve) => (this.resolveClosed = resolve))
    if (!carrier.noticesSilence) this.heartbeat = setInterval(() => void this.checkSilence(), SILENCE_MS / 2)
    this.heartbeat?.unref()
    carrier.transport.start({
      onMessage: (text) => this.receive(text),
      onProblem: (problem) => this.drop(problem.message),
      onClose: (reason) => this.end(reason),
    })
  }

  get isClosed(): boolean {
    return this.closeReason !== undefined
  }

  /**
   * Sends a request. Rejects with the server's RpcError, with `disconnected` when the link ends first,
   * or with `cancelled`/`timedOut`; the server does not learn of the last two.
   */
  async request<R>(method: string, params: unknown, decoder: Decoder<R>, options: LinkRequestOptions = {}): Promise<R> {
    if (this.closeReason) throw this.disconnected()
    options.signal?.throwIfAborted()
    const id = this.nextId++
    const { transport } = this.carrier
    const answer = new Promise<unknown>((resolve, reject) => this.pending.set(id, { resolve, reject }))
    const abandon = (code: 'cancelled' | 'timedOut', message: string) => {
      const waiting = this.pending.get(id)
      this.pending.delete(id)
      waiting?.reject(new RpcError(code, message))
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
      transport.send(JSON.stringify({ id, method, params }))
      return decoder(await answer, `${method} result`)
    } finally {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', onAbort)
    }
  }

  /** The only notification this wire has from a client. */
  notifyInitialized(): void {
    this.carrier.transport.send('{"method":"initialized","params":{}}')
  }

  /** Resolves when bulk data may be sent again. */
  drained(): Promise<void> {
    return this.carrier.transport.drained()
  }

  /** Ends the link because of what the server did; `closed` resolves with the words. */
  drop(message: string): void {
    this.carrier.transport.close(message)
  }

  private receive(text: string): void {
    this.heardAtMs = performance.now()
    let message: RpcMessage
    try {
      message = parseMessage(text)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      if (this.carrier.toleratesNoise) this.listener.onOddity(`skipped a line that is no message: ${error.message}`)
      else this.drop(`the exec server sent something that is no message: ${error.message}`)
      return
    }
    switch (message.kind) {
      case 'request':
        void this.answer(message.id, message.method, message.params)
        return
      case 'notification':
        this.notified(message.method, message.params)
        return
      default:
        this.settle(message)
    }
  }

  private notified(method: string, params: unknown): void {
    try {
      this.listener.onNotification(method, params)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      this.drop(`the exec server sent a ${method} that does not decode: ${error.message}`)
    }
  }

  private async answer(id: RpcId, method: string, params: unknown): Promise<void> {
    const idText = typeof id === 'bigint' ? id.toString() : JSON.stringify(id)
    let outcome: string
    try {
      const result = await this.listener.onRequest(method, params)
      outcome = `"result":${JSON.stringify(result ?? {})}`
    } catch (error) {
      const wire: RpcErrorObject =
        error instanceof RpcError
          ? { code: error.wireCode, message: error.message }
          : { code: RPC_ERROR.internal, message: error instanceof Error ? error.message : String(error) }
      outcome = `"error":${JSON.stringify(wire)}`
    }
    if (!this.closeReason) this.carrier.transport.send(`{"id":${idText},${outcome}}`)
  }

  private settle(message: Extract<RpcMessage, { kind: 'result' | 'error' }>): void {
    const waiting = message.id === null ? undefined : this.pending.get(message.id)
    if (!waiting || message.id === null)
      return this.listener.onOddity(`an answer to no open request (id ${String(message.id)})`)
    this.pending.delete(message.id)
    if (message.kind === 'result') waiting.resolve(message.result)
    else waiting.reject(RpcError.fromWire(message.error))
  }

  /**
   * Asks for a sign of life and drops the link when none comes in time. Any answer is one, also "I do
   * not know that method".
   */
  async confirmLife(timeoutMs: number): Promise<void> {
    try {
      await this.request('environment/status', {}, unknown, { timeoutMs })
    } catch (error) {
      if (error instanceof RpcError && error.code === 'timedOut') this.drop('the exec server gave no sign of life')
    }
  }

  /**
   * A frozen server keeps its connection open. Servers that handle one request at a time answer this
   * one only when no other is in its way, so it is not held against them while one is.
   */
  private async checkSilence(): Promise<void> {
    if (performance.now() - this.heardAtMs < SILENCE_MS || this.pending.size > 0) return
    await this.confirmLife(STATUS_TIMEOUT_MS)
  }

  private end(reason: CloseReason): void {
    if (this.closeReason) return
    this.closeReason = reason
    clearInterval(this.heartbeat)
    const waiting = [...this.pending.values()]
    this.pending.clear()
    for (const { reject } of waiting) reject(this.disconnected())
    this.resolveClosed(reason)
  }

  private disconnected(): ConnectionLost {
    const why = this.closeReason?.message ?? 'no reason given'
    return new ConnectionLost(`the connection to the exec server ended: ${why}`, this.closeReason?.cause)
  }
}
