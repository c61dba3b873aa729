/** One request from its verdict to its answer: held for the owner, connected, exchanged. */
import type { Attempt, Connected } from '../admission.ts'
import type { ClientConnection } from '../client-connection.ts'
import { ClientPresence } from '../client-presence.ts'
import type { UpstreamConnection } from '../dial/upstream-connection.ts'
import type { Attribution } from '../leases.ts'
import type { Ruling } from '../policy/policy.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import type { HttpServing } from './client-session.ts'
import { Exchange, type ExchangeOutcome, type ExchangeOwner } from './exchange.ts'
import type { RequestForm } from './forwarded-head.ts'
import { isReplayable, type ProxiedRequest } from './proxied-request.ts'
import type { ResponseHead } from './response-head.ts'

/** The client connection of a run. Exactly one of these is called at the end, except after `abandon`. */
export interface RunOwner {
  readonly connection: ClientConnection
  readonly attribution: Attribution
  /** The head is on its way to the origin; a body may follow. */
  exchangeStarted(): void
  /** The whole answer is out. */
  answered(keepAlive: boolean): void
  refused(request: ProxiedRequest, refusal: Refusal): void
  /** No answer can be had, and nothing was sent. */
  failed(request: ProxiedRequest, problem: string): void
  /** The answer broke in the middle. */
  torn(): void
  /** The origin switched protocols; the client has the answer. */
  upgraded(request: ProxiedRequest, upstream: UpstreamConnection, record: ConnectionRecord): void
}

/** Straight to the origin, in origin form. */
const DIRECT: RequestForm = {}

export class RequestRun implements ExchangeOwner {
  private readonly presence = new ClientPresence()
  private exchange: Exchange | undefined
  private exempt = false

  constructor(
    readonly request: ProxiedRequest,
    private readonly record: ConnectionRecord,
    private readonly serving: HttpServing,
    private readonly owner: RunOwner,
  ) {}

  /** The request's body is still coming and can be passed on. */
  get wantsBody(): boolean {
    return this.exchange !== undefined && !this.exchange.requestComplete
  }

  /** An answer is, or may be, under way to the client. */
  get hasStarted(): boolean {
    return this.exchange !== undefined
  }

  start(ruling: Ruling): void {
    if (ruling.verdict !== 'allow') return void this.ask(ruling)
    this.exempt = ruling.exempt
    this.forward()
  }

  private get attempt(): Attempt {
    const { record, presence } = this
    return { destination: this.request.destination, attribution: this.owner.attribution, record, presence }
  }

  private async ask(ruling: Ruling): Promise<void> {
    const admitted = await this.serving.admission.admit(this.attempt, ruling)
    if (this.presence.left) return
    if (!admitted.allowed) return this.refuse(admitted.refusal)
    this.exempt = admitted.exempt
    this.forward()
  }

  private forward(): void {
    const { poolKey, head } = this.request
    const upstream = poolKey && this.serving.pool.take(poolKey, this.owner, isReplayable(head))
    if (upstream) this.exchangeOver(upstream, true)
    else void this.dial()
  }

  private async dial(): Promise<void> {
    const { parent, target } = this.request
    const options = { exempt: this.exempt, tls: target.tls, plainParent: parent }
    this.connected(await this.serving.admission.connect(this.attempt, options))
  }

  /** Judges the path of a unix socket and goes on over it. */
  async startUnixSocket(path: string): Promise<void> {
    const { admission } = this.serving
    const refusal = await admission.judgeUnixSocket(path, this.request.head.method)
    if (this.presence.left) return
    if (refusal) return this.refuse(refusal)
    this.connected(await admission.connectUnixSocket(this.attempt, path))
  }

  private connected(connected: Connected): void {
    switch (connected.kind) {
      case 'connected':
        return this.exchangeOver(connected.upstream, false)
      case 'refused':
        return this.refuse(connected.refusal)
      case 'failed':
        return this.fail(connected.message)
      case 'abandoned':
        return
    }
  }

  private refuse(refusal: Refusal): void {
    this.record.blocked(refusal, this.serving.log.nowMs())
    this.owner.refused(this.request, refusal)
  }

  private fail(problem: string): void {
    this.record.failed(problem, this.serving.log.nowMs())
    this.owner.failed(this.request, problem)
  }

  private exchangeOver(upstream: UpstreamConnection, reused: boolean): void {
    const { head, target, parent } = this.request
    this.exchange = new Exchange(
      {
        head,
        target,
        upstream,
        record: this.record,
        client: this.owner.connection,
        form: parent ? { parent: { proxyAuthorization: parent.authorization } } : DIRECT,
        reused,
        onResponse: this.watch(),
      },
      this,
    )
    this.exchange.sendHead()
    this.owner.exchangeStarted()
  }

  /** Heads of inspected requests are kept for the window, a few of them. */
  private watch(): ((head: ResponseHead) => void) | undefined {
    const { head, target, injected, onResponse } = this.request
    if (!this.record.inspected) return onResponse
    const seen = this.record.seeExchange({
      atMs: this.serving.log.nowMs(),
      method: head.method,
      path: target.path,
      request: head.fields,
      injected,
    })
    return (response) => {
      onResponse?.(response)
      seen.status = response.status
      seen.response = response.fields
    }
  }

  /** Passes body bytes on; returns the offset of the first one after the body. @throws MalformedHttp */
  sendBody(bytes: Buffer): number {
    return this.exchange?.sendBody(bytes, 0) ?? 0
  }

  /** The client is gone, or its connection must end. */
  abandon(): void {
    this.presence.leave()
    this.exchange?.abort()
  }

  exchangeDone({ upstream }: Exchange, outcome: ExchangeOutcome): void {
    const { poolKey } = this.request
    if (outcome.upstreamReusable && poolKey !== undefined)
      this.serving.pool.put(poolKey, upstream, this.owner, outcome.upstreamBound)
    else upstream.destroy()
    this.owner.answered(outcome.keepAlive)
  }

  exchangeStale(): void {
    this.exchange = undefined
    void this.dial()
  }

  exchangeFailed(_exchange: Exchange, problem: string): void {
    this.fail(problem)
  }

  exchangeTorn(_exchange: Exchange, problem: string): void {
    this.record.failed(problem, this.serving.log.nowMs())
    this.owner.torn()
  }

  exchangeUpgraded({ upstream }: Exchange, early: Buffer): void {
    if (early.length > 0) this.owner.connection.socket.write(early)
    this.owner.upgraded(this.request, upstream, this.record)
  }
}
