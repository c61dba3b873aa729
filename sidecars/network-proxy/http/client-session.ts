/**
 * One client connection that speaks HTTP/1.1 to the proxy: requests are read, judged and forwarded one
 * after the other, each on its own, however many the client sends at once.
 */
import type { Socket } from 'node:net'
import type { Admission, Attempt, Connected } from '../admission.ts'
import type { UpstreamConnection } from '../dial/upstream-connection.ts'
import type { ParentRoute } from '../dial/parent-proxy.ts'
import { ClientPresence } from '../client-presence.ts'
import { basicUser, UNATTRIBUTED, type Attribution, type LeaseRegistry } from '../leases.ts'
import type { LiveConnection, LiveConnections } from '../live-connections.ts'
import type { Ruling } from '../policy/policy.ts'
import { connectRefusal, httpRefusal, type Refusal } from '../policy/refusal.ts'
import { refusalForm } from './refusal-form.ts'
import type { Destination } from '../policy/rule-table.ts'
import { UNIX_SOCKET_HEADER, UNIX_SOCKET_HOST } from '../policy/unix-socket.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import type { TunnelClient, TunnelOpener } from '../tunnel/tunnel-opener.ts'
import { BodyReader } from './body-reader.ts'
import { errorResponse } from './error-response.ts'
import { Exchange, type ExchangeOwner } from './exchange.ts'
import { MalformedHttp, MAX_HEAD_BYTES } from './fields.ts'
import type { RequestForm } from './forwarded-head.ts'
import { parseRequestHead, type RequestHead } from './request-head.ts'
import type { RequestHooks } from './request-hooks.ts'
import { connectTarget, requestTarget, tunnelledTarget, type RequestTarget } from './request-target.ts'
import type { ResponseHead } from './response-head.ts'
import type { TunnelScope } from './tunnel-scope.ts'
import { poolKey, type UpstreamPool } from './upstream-pool.ts'
import { resetSocket } from '../reset-socket.ts'

/** What all sessions of a proxy share. */
export interface HttpServing {
  admission: Admission
  leases: LeaseRegistry
  live: LiveConnections
  log: ConnectionLog
  pool: UpstreamPool
  tunnels: TunnelOpener
  hooks: RequestHooks
}

/** Bytes a client may send ahead of its turn before it is held back. */
const MAX_AHEAD_BYTES = 64 * 1024
/** A refused request's body up to this size is read and dropped, so that the connection can go on. */
const MAX_DISCARD_BYTES = 64 * 1024
const HEAD_LIMIT_MS = 30_000
const IDLE_LIMIT_MS = 10 * 60_000
/** An exchange without a byte either way ends after this, as an idle tunnel does. */
const EXCHANGE_IDLE_LIMIT_MS = 60 * 60_000
/** How long a client may go on sending after it was told that the connection closes. */
const LINGER_MS = 2000
const HEAD_END = Buffer.from('\r\n\r\n')

type State =
  /** Between requests, or in the middle of a head. */
  | 'head'
  /** Asking, looking up or dialling. */
  | 'held'
  /** An exchange runs. */
  | 'exchange'
  /** The body of a refused request is read and dropped. */
  | 'discarding'
  /** The last response is out; what still comes is dropped until the client closes. */
  | 'lingering'
  | 'ended'

interface Request {
  head: RequestHead
  target: RequestTarget
  destination: Destination
  /** The destination is a literal that a rule names. */
  exempt: boolean
  /** Set when the request goes to a parent proxy instead. */
  parent: ParentRoute | undefined
  /** Undefined when the connection serves this request only. */
  poolKey: string | undefined
  injected: readonly string[]
  onResponse: ((head: ResponseHead) => void) | undefined
}

export class ClientSession implements ExchangeOwner, LiveConnection, TunnelClient {
  attribution: Attribution
  readonly opaque = false
  private state: State = 'head'
  /** Received and not yet read. */
  private ahead: Buffer | undefined
  private request: Request | undefined
  private exchange: Exchange | undefined
  private discard: BodyReader | undefined
  private record: ConnectionRecord | undefined
  private presence: ClientPresence | undefined
  private clientEnded = false
  private pumping = false
  /** Since when the session waits for the client, or for bytes of an exchange. */
  private waitingSinceMs: number
  private bytesSeen = 0

  /**
   * `listenerAttribution` is set when the listener itself belongs to one lease, `scope` when the requests
   * come out of an inspected tunnel. The socket must have an error listener.
   */
  constructor(
    readonly socket: Socket,
    private readonly serving: HttpServing,
    private readonly listenerAttribution: Attribution | undefined,
    private readonly scope?: TunnelScope,
  ) {
    this.attribution = listenerAttribution ?? UNATTRIBUTED
    this.record = scope?.record
    this.waitingSinceMs = serving.log.nowMs()
  }

  get destination(): Destination | undefined {
    return this.request?.destination
  }

  /** Takes over the socket; `early` was read from it already. */
  start(early: Buffer): void {
    this.serving.live.add(this)
    this.socket.on('data', this.onBytes)
    this.socket.on('end', this.onEnd)
    this.socket.on('close', this.onClose)
    this.onBytes(early)
  }

  private readonly onBytes = (bytes: Buffer): void => {
    switch (this.state) {
      case 'head':
        this.keepAhead(bytes)
        return this.pump()
      case 'exchange':
        if (this.exchange && !this.exchange.requestComplete) return this.sendBody(this.exchange, bytes)
        return this.keepAhead(bytes)
      case 'held':
        return this.keepAhead(bytes)
      case 'discarding':
        return this.discardBody(bytes)
      default:
    }
  }

  private keepAhead(bytes: Buffer): void {
    this.ahead = this.ahead ? Buffer.concat([this.ahead, bytes]) : bytes
    // A head in the making has a limit of its own.
    if (this.state !== 'head' && this.ahead.length > MAX_AHEAD_BYTES) this.socket.pause()
  }

  /** Starts requests from what was received, until one has to wait. */
  private pump(): void {
    if (this.pumping) return
    this.pumping = true
    while (this.state === 'head' && this.ahead && this.readHead(this.ahead));
    this.pumping = false
    if (this.state === 'head' && this.clientEnded) this.linger()
  }

  /** Begins the next request; false when its head is not complete. */
  private readHead(bytes: Buffer): boolean {
    let start = 0
    // Empty lines before a request come from old clients that end a body with one (RFC 9112, 2.2).
    while (bytes[start] === 0x0d && bytes[start + 1] === 0x0a) start += 2
    const end = bytes.indexOf(HEAD_END, start)
    if ((end < 0 ? bytes.length : end) - start > MAX_HEAD_BYTES) {
      this.finalAnswer(errorResponse(431, 'the request head is larger than 64 KiB', false))
      return false
    }
    if (end < 0) {
      this.ahead = start < bytes.length ? bytes.subarray(start) : undefined
      return false
    }
    this.ahead = end + HEAD_END.length < bytes.length ? bytes.subarray(end + HEAD_END.length) : undefined
    try {
      this.begin(parseRequestHead(bytes.toString('latin1', start, end)))
    } catch (error) {
      this.answerMalformed(error)
    }
    return true
  }

  private begin(head: RequestHead): void {
    this.attribution =
      this.listenerAttribution ?? this.serving.leases.attribution(basicUser(head.fields.get('proxy-authorization')))
    const { scope } = this
    if (scope && (head.method === 'CONNECT' || head.method === 'TRACE'))
      return this.finalAnswer(errorResponse(405, `${head.method} cannot be used inside a tunnel`, false))
    if (!scope && head.method === 'CONNECT') return this.beginTunnel(head)
    if (!scope && head.fields.has(UNIX_SOCKET_HEADER)) return this.beginUnixSocket(head)
    const target = scope ? tunnelledTarget(head, scope) : requestTarget(head)
    if (head.isWebSocketUpgrade && head.framing.kind !== 'none') throw new MalformedHttp('a body in an upgrade request')
    const destination = scope?.destinationOf(head.method) ?? plainDestination(head, target)
    const ruling =
      scope?.judge(head.method, head.isWebSocketUpgrade) ?? this.serving.admission.judge(destination, this.attribution)
    if (ruling.verdict === 'deny') return this.block(head, destination, ruling.refusal)
    const hooked = this.serving.hooks.apply(head, target)
    if (hooked.refusal) return this.block(head, destination, hooked.refusal)
    const { injected, onResponse } = hooked
    const parent = this.serving.admission.parentFor(destination)
    const key = head.isWebSocketUpgrade ? undefined : poolKey(target, parent)
    const request: Request = {
      head,
      target,
      destination,
      exempt: false,
      parent,
      poolKey: key,
      injected,
      onResponse,
    }
    this.request = request
    if (ruling.verdict === 'ask') return void this.ask(request, ruling)
    request.exempt = ruling.exempt
    this.useRecord(destination, ruling)
    this.forward(request)
  }

  private block(head: RequestHead, destination: Destination, refusal: Refusal): void {
    const record = this.serving.log.block(destination, this.attribution, this.clientAddress(), refusal)
    record.inspected ||= this.scope !== undefined
    this.answerRefusal(head, destination, refusal)
  }

  private clientAddress(): string | undefined {
    const { remoteAddress, remotePort } = this.socket
    return remoteAddress === undefined ? undefined : `${remoteAddress}:${remotePort}`
  }

  /** Requests of this connection to one destination, allowed by one rule, share a record. */
  private useRecord(destination: Destination, ruling: Ruling & { verdict: 'allow' }): void {
    const { record } = this
    const continues = this.scope
      ? record?.closedAtMs === undefined
      : record?.continues(destination, this.attribution, ruling.ruleId)
    if (record && continues) record.requests++
    else this.newRecord(destination).allowed(ruling)
  }

  private newRecord(destination: Destination): ConnectionRecord {
    this.record?.closed(this.serving.log.nowMs())
    this.record = this.serving.log.open(destination, this.attribution, this.clientAddress())
    this.record.requests = 1
    this.record.inspected = this.scope !== undefined
    return this.record
  }

  private attempt(destination: Destination): Attempt {
    this.presence = new ClientPresence()
    const record = this.record ?? this.newRecord(destination)
    return { destination, attribution: this.attribution, record, presence: this.presence }
  }

  private async ask(request: Request, ruling: Ruling): Promise<void> {
    this.state = 'held'
    this.newRecord(request.destination)
    const attempt = this.attempt(request.destination)
    const admitted = await this.serving.admission.admit(attempt, ruling)
    if (attempt.presence.left) return attempt.record.closed(this.serving.log.nowMs())
    if (!admitted.allowed) {
      attempt.record.blocked(admitted.refusal, this.serving.log.nowMs())
      return this.answerRefusal(request.head, request.destination, admitted.refusal)
    }
    request.exempt = admitted.exempt
    this.forward(request)
  }

  private forward(request: Request): void {
    const upstream = request.poolKey && this.serving.pool.take(request.poolKey, this, isReplayable(request.head))
    if (upstream) this.runExchange(request, upstream, true)
    else void this.dialAndRun(request)
  }

  private async dialAndRun(request: Request): Promise<void> {
    this.state = 'held'
    const attempt = this.attempt(request.destination)
    const connected = await this.serving.admission.connect(attempt, {
      exempt: request.exempt,
      tls: request.target.tls,
      plainParent: request.parent,
    })
    this.connected(request, attempt, connected)
  }

  private connected(request: Request, attempt: Attempt, connected: Connected): void {
    const nowMs = this.serving.log.nowMs()
    switch (connected.kind) {
      case 'connected':
        return this.runExchange(request, connected.upstream, false)
      case 'refused':
        attempt.record.blocked(connected.refusal, nowMs)
        return this.answerRefusal(request.head, request.destination, connected.refusal)
      case 'failed':
        attempt.record.failed(connected.message, nowMs)
        return this.answerFailure(request.head, connected.message)
      case 'abandoned':
        return attempt.record.closed(nowMs)
    }
  }

  private runExchange(request: Request, upstream: UpstreamConnection, reused: boolean): void {
    const { head, target } = request
    const { socket: client } = this
    const record = this.record ?? this.newRecord(request.destination)
    this.state = 'exchange'
    const onResponse = this.watch(request, record)
    const form = formFor(request)
    this.exchange = new Exchange({ head, target, upstream, record, client, form, reused, onResponse }, this)
    this.exchange.sendHead()
    if (this.exchange.requestComplete) return
    const { ahead } = this
    this.ahead = undefined
    if (ahead) this.sendBody(this.exchange, ahead)
    if (this.exchange && !this.exchange.requestComplete) this.awaitBody()
  }

  /** Heads of inspected requests are kept for the window, a few of them. */
  private watch(request: Request, record: ConnectionRecord): Request['onResponse'] {
    const { head, target, injected, onResponse } = request
    if (!record.inspected) return onResponse
    const seen = record.seeExchange({
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

  private awaitBody(): void {
    // The end of the client's side came while the connection was being made.
    if (this.clientEnded) this.end()
    else this.socket.resume()
  }

  private sendBody(exchange: Exchange, bytes: Buffer): void {
    try {
      const at = exchange.sendBody(bytes, 0)
      if (at < bytes.length) this.keepAhead(bytes.subarray(at))
    } catch (error) {
      exchange.abort()
      this.answerMalformed(error)
    }
  }

  exchangeDone(exchange: Exchange, outcome: { keepAlive: boolean; upstreamReusable: boolean }): void {
    const key = this.request?.poolKey
    if (!outcome.upstreamReusable || key === undefined) exchange.upstream.destroy()
    else this.serving.pool.put(key, exchange.upstream, this)
    this.requestOver()
    if (outcome.keepAlive) this.toNextRequest()
    else this.linger()
  }

  exchangeStale(): void {
    this.exchange = undefined
    if (this.request) void this.dialAndRun(this.request)
  }

  exchangeFailed(exchange: Exchange, problem: string): void {
    exchange.record.failed(problem, this.serving.log.nowMs())
    this.answerFailure(exchange.head, problem)
  }

  exchangeTorn(exchange: Exchange, problem: string): void {
    exchange.record.failed(problem, this.serving.log.nowMs())
    this.detach()
    resetSocket(this.socket)
  }

  exchangeUpgraded(exchange: Exchange, early: Buffer): void {
    const { ahead, attribution, destination } = this
    this.detach()
    this.record = undefined
    if (early.length > 0) this.socket.write(early)
    if (destination === undefined) return exchange.upstream.destroy()
    const attempt = { destination, attribution, record: exchange.record }
    this.serving.tunnels.relayUpgraded(this.socket, exchange.upstream, attempt, ahead)
  }

  private beginTunnel(head: RequestHead): void {
    if (head.framing.kind !== 'none') throw new MalformedHttp('a body in a CONNECT request')
    const { host, port } = connectTarget(head)
    const destination: Destination = { host, port, protocol: 'https', method: 'CONNECT' }
    const ruling = this.serving.admission.judge(destination, this.attribution)
    if (ruling.verdict === 'deny') {
      this.serving.log.block(destination, this.attribution, this.clientAddress(), ruling.refusal)
      return this.refuse(ruling.refusal)
    }
    this.state = 'held'
    this.request = {
      head,
      target: { host, port, tls: false, path: '' },
      destination,
      exempt: false,
      parent: undefined,
      poolKey: undefined,
      injected: [],
      onResponse: undefined,
    }
    this.newRecord(destination)
    void this.serving.tunnels.open(this, this.attempt(destination), ruling)
  }

  private beginUnixSocket(head: RequestHead): void {
    const path = head.fields.get(UNIX_SOCKET_HEADER) ?? ''
    if (head.fields.count(UNIX_SOCKET_HEADER) > 1 || /[^\x20-\x7e]/.test(path))
      throw new MalformedHttp('a socket path that is not ASCII, or two of them')
    head.fields.remove(UNIX_SOCKET_HEADER)
    const target = requestTarget(head)
    const destination: Destination = { host: UNIX_SOCKET_HOST, port: 0, protocol: 'http', method: head.method }
    this.request = {
      head,
      target,
      destination,
      exempt: true,
      parent: undefined,
      poolKey: undefined,
      injected: [],
      onResponse: undefined,
    }
    void this.openUnixSocket(this.request, path)
  }

  private async openUnixSocket(request: Request, path: string): Promise<void> {
    this.state = 'held'
    this.newRecord(request.destination)
    const attempt = this.attempt(request.destination)
    const refusal = await this.serving.admission.judgeUnixSocket(path, request.head.method)
    if (attempt.presence.left) return
    if (refusal) {
      attempt.record.blocked(refusal, this.serving.log.nowMs())
      return this.answerRefusal(request.head, request.destination, refusal)
    }
    this.connected(request, attempt, await this.serving.admission.connectUnixSocket(attempt, path))
  }

  accept(): Buffer | undefined {
    const { ahead } = this
    this.detach()
    this.record = undefined
    this.socket.write('HTTP/1.1 200 Connection established\r\n\r\n', 'latin1')
    return ahead
  }

  refuse(refusal: Refusal): void {
    this.finalAnswer(connectRefusal(refusal))
  }

  fail(_code: string, message: string): void {
    this.finalAnswer(errorResponse(502, message, false))
  }

  /** The connection goes on when the rest of the refused request is small enough to skip. */
  private answerRefusal(head: RequestHead, destination: Destination, refusal: Refusal): void {
    const keepAlive = head.keepAlive && isSkippable(head)
    this.socket.write(httpRefusal(refusal, destination, keepAlive, refusalForm(head.fields, this.scope !== undefined)))
    this.afterAnswer(head, keepAlive)
  }

  private answerFailure(head: RequestHead, problem: string): void {
    const keepAlive = head.keepAlive && head.framing.kind === 'none'
    this.socket.write(errorResponse(502, problem, keepAlive))
    this.afterAnswer(head, keepAlive)
  }

  private answerMalformed(error: unknown): void {
    if (!(error instanceof MalformedHttp)) throw error
    this.finalAnswer(errorResponse(400, error.message, false))
  }

  private finalAnswer(answer: Buffer): void {
    this.socket.write(answer)
    this.requestOver()
    this.linger()
  }

  private afterAnswer(head: RequestHead, keepAlive: boolean): void {
    this.requestOver()
    if (!keepAlive) return this.linger()
    if (head.framing.kind === 'none') return this.toNextRequest()
    this.state = 'discarding'
    this.discard = BodyReader.of(head.framing)
    const { ahead } = this
    this.ahead = undefined
    if (ahead) this.discardBody(ahead)
    else this.socket.resume()
  }

  private discardBody(bytes: Buffer): void {
    if (!this.discard) return
    const at = this.discard.read(bytes, 0, () => {})
    if (!this.discard.done) return
    this.discard = undefined
    this.ahead = at < bytes.length ? bytes.subarray(at) : undefined
    this.toNextRequest()
  }

  private requestOver(): void {
    this.request = undefined
    this.exchange = undefined
    this.presence = undefined
  }

  private toNextRequest(): void {
    this.state = 'head'
    this.waitingSinceMs = this.serving.log.nowMs()
    this.socket.resume()
    if (this.ahead || this.clientEnded) this.pump()
  }

  /**
   * Ends our side and reads on for a moment: closing with unread bytes would reset the connection and
   * take the answer away from the client.
   */
  private linger(): void {
    this.state = 'lingering'
    this.ahead = undefined
    this.waitingSinceMs = this.serving.log.nowMs()
    if (this.clientEnded) return this.socket.destroySoon()
    this.socket.end()
    this.socket.resume()
  }

  private readonly onEnd = (): void => {
    this.clientEnded = true
    switch (this.state) {
      case 'head':
      case 'discarding':
      case 'lingering':
        return this.linger()
      case 'held':
        // One that has closed and one that only ended its side look alike; nobody asks for the absent.
        if (this.record?.state === 'asked') this.end()
        return
      case 'exchange':
        if (this.exchange && !this.exchange.requestComplete) this.end()
        return
      default:
    }
  }

  private readonly onClose = (): void => this.end()

  end(refusal?: Refusal): void {
    if (this.state === 'ended') return
    const { exchange, record, presence } = this
    this.detach()
    presence?.leave()
    exchange?.abort()
    if (refusal) record?.blocked(refusal, this.serving.log.nowMs())
    record?.closed(this.serving.log.nowMs())
    if (exchange) resetSocket(this.socket)
    else this.socket.destroy()
  }

  private detach(): void {
    this.state = 'ended'
    this.ahead = undefined
    this.requestOver()
    this.socket.off('data', this.onBytes)
    this.socket.off('end', this.onEnd)
    this.socket.off('close', this.onClose)
    this.serving.live.delete(this)
  }

  tick(nowMs: number): void {
    const waitedMs = nowMs - this.waitingSinceMs
    if (this.state === 'lingering') {
      if (waitedMs > LINGER_MS) this.end()
    } else if (this.state === 'exchange' && this.record) {
      const bytes = this.record.bytesIn + this.record.bytesOut
      if (bytes !== this.bytesSeen) {
        this.bytesSeen = bytes
        this.waitingSinceMs = nowMs
      } else if (waitedMs > EXCHANGE_IDLE_LIMIT_MS) this.end()
    } else if (this.state === 'head') {
      if (this.ahead && waitedMs > HEAD_LIMIT_MS)
        this.finalAnswer(errorResponse(408, 'the request head did not arrive within 30 seconds', false))
      else if (waitedMs > IDLE_LIMIT_MS) this.end()
    }
  }
}

function plainDestination(
  { method, isWebSocketUpgrade }: RequestHead,
  { host, port, tls }: RequestTarget,
): Destination {
  return { host, port, protocol: tls ? 'https' : isWebSocketUpgrade ? 'websocket' : 'http', method }
}

function formFor({ parent }: Request): RequestForm {
  return parent ? { parent: { proxyAuthorization: parent.authorization } } : {}
}

/** Sending it twice does what sending it once does, and there is no body that is already gone. */
function isReplayable({ method, framing }: RequestHead): boolean {
  return framing.kind === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
}

function isSkippable({ framing, expectsContinue }: RequestHead): boolean {
  return (
    framing.kind === 'none' || (framing.kind === 'length' && framing.bytes <= MAX_DISCARD_BYTES && !expectsContinue)
  )
}
