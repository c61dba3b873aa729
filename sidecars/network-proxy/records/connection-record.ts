/** What happened to one connection, kept while it lives and reported to the host as it changes. */
import type { ConnectionFacts } from '../../protocol/host-channel.ts'
import type { ConnectionId, RequestId, RuleId } from '../../protocol/ids.ts'
import type { Attribution } from '../leases.ts'
import type { Refusal } from '../policy/refusal.ts'
import { refusalCode } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import { ExchangeLog, type SeenExchange } from './exchange-log.ts'

/** What a record tells when it changed; the log keeps the order and the pace. */
export interface RecordListener {
  /** A verdict on the record's destination: an allowance, or the refusal. */
  recordDecided(record: ConnectionRecord, outcome: { refusal?: Refusal; wasAsked: boolean }): void
  recordChanged(record: ConnectionRecord): void
  recordEnded(record: ConnectionRecord): void
}

/** The client's end of a connection; a socket is one. */
export interface ClientEnd {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

export class ConnectionRecord {
  state: ConnectionFacts['state'] = 'allowed'
  refusal: Refusal | undefined
  /** Why a connection that was allowed did not come about or broke. */
  failure: string | undefined
  ruleId: string | undefined
  requestId: string | undefined
  address: string | undefined
  /** Bytes received from the destination. */
  bytesIn = 0
  /** Bytes sent to the destination. */
  bytesOut = 0
  /** Requests of one client connection to one destination share a record. */
  requests = 0
  closedAtMs: number | undefined
  count = 1
  inspected = false
  private exchanges: ExchangeLog | undefined
  private knownClient: string | undefined
  /** Bytes at the time of the last report. */
  reportedBytes = 0

  constructor(
    readonly id: ConnectionId,
    readonly destination: Destination,
    readonly attribution: Attribution,
    private client: ClientEnd | undefined,
    readonly openedAtMs: number,
    private readonly listener: RecordListener,
  ) {}

  /** True when a further request of the same client belongs to this record. */
  continues(destination: Destination, attribution: Attribution, ruleId: string | undefined): boolean {
    return (
      this.closedAtMs === undefined &&
      this.destination.host === destination.host &&
      this.destination.port === destination.port &&
      this.destination.protocol === destination.protocol &&
      this.attribution === attribution &&
      this.ruleId === ruleId
    )
  }

  /**
   * Address and port of the client. Asking the kernel costs as much as a write, so it is done when facts
   * are reported; a connection that is gone by then has none.
   */
  clientAddress(): string | undefined {
    if (this.knownClient === undefined && this.client?.remoteAddress !== undefined)
      this.knownClient = `${this.client.remoteAddress}:${this.client.remotePort}`
    return this.knownClient
  }

  /** Held for the owner. */
  asked(): void {
    this.state = 'asked'
    this.listener.recordChanged(this)
  }

  allowed(by: { ruleId?: string | undefined; requestId?: string | undefined }): void {
    const wasAsked = this.state === 'asked'
    this.state = 'allowed'
    this.ruleId = by.ruleId
    this.requestId = by.requestId ?? this.requestId
    this.listener.recordDecided(this, { wasAsked })
    this.listener.recordChanged(this)
  }

  /** The address that is really used. */
  connected(address: string): void {
    this.address = address
    this.listener.recordChanged(this)
  }

  blocked(refusal: Refusal, nowMs: number, requestId?: string): void {
    this.state = 'blocked'
    this.refusal = refusal
    this.ruleId = refusal.ruleId
    this.requestId = requestId ?? this.requestId
    this.listener.recordDecided(this, { refusal, wasAsked: refusal.source === 'decider' })
    this.end(nowMs)
  }

  failed(message: string, nowMs: number): void {
    this.state = 'failed'
    this.failure = message
    this.end(nowMs)
  }

  closed(nowMs: number): void {
    if (this.closedAtMs !== undefined) return
    this.state = 'closed'
    this.end(nowMs)
  }

  /** Remembers the heads of a request; the caller adds those of its answer. */
  seeExchange(seen: SeenExchange): SeenExchange {
    this.exchanges ??= new ExchangeLog()
    this.exchanges.add(seen)
    return seen
  }

  /** The same block again. */
  repeated(): void {
    this.count++
    this.listener.recordChanged(this)
  }

  private end(nowMs: number): void {
    this.client = undefined
    this.closedAtMs = nowMs
    this.listener.recordChanged(this)
    this.listener.recordEnded(this)
  }

  facts(): ConnectionFacts {
    const { host, port, protocol, method } = this.destination
    const facts: ConnectionFacts = {
      id: this.id,
      host,
      port,
      protocol,
      state: this.state,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      openedAtMs: this.openedAtMs,
      count: this.count,
      inspected: this.inspected,
    }
    if (method !== undefined) facts.method = method
    if (this.attribution.leaseId !== undefined) facts.leaseId = this.attribution.leaseId
    if (this.state === 'blocked') facts.verdict = 'deny'
    else if (this.state !== 'asked') facts.verdict = 'allow'
    if (this.refusal) facts.reason = this.refusal.reason
    if (this.ruleId !== undefined) facts.ruleId = this.ruleId as RuleId
    if (this.requestId !== undefined) facts.requestId = this.requestId as RequestId
    if (this.address !== undefined) facts.address = this.address
    const clientAddress = this.clientAddress()
    if (clientAddress !== undefined) facts.clientAddress = clientAddress
    if (this.closedAtMs !== undefined) facts.closedAtMs = this.closedAtMs
    const detail = this.detail()
    if (detail !== undefined) facts.detail = detail
    return facts
  }

  private detail(): Record<string, unknown> | undefined {
    const detail: Record<string, unknown> = {}
    if (this.refusal) {
      detail.source = this.refusal.source
      detail.code = refusalCode(this.refusal.reason)
      if (this.refusal.detail !== undefined) detail.words = this.refusal.detail
    }
    if (this.failure !== undefined) detail.failure = this.failure
    if (this.requests > 1) detail.requests = this.requests
    if (this.exchanges) detail.exchanges = this.exchanges.shown()
    return Object.keys(detail).length === 0 ? undefined : detail
  }
}
