/**
 * One client connection that speaks HTTP/1.1 to the proxy: requests are read, judged and forwarded one
 * after the other, each on its own, however many the client sends at once.
 */
import type { Admission } from '../admission.ts'
import type { ClientConnection, ClientSink } from '../client-connection.ts'
import type { UpstreamConnection } from '../dial/upstream-connection.ts'
import { basicUser, UNATTRIBUTED, type Attribution, type LeaseRegistry } from '../leases.ts'
import type { LiveConnection, LiveConnections } from '../live-connections.ts'
import type { Ruling } from '../policy/policy.ts'
import { httpRefusal, type Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import { UNIX_SOCKET_HEADER, UNIX_SOCKET_HOST } from '../policy/unix-socket.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import { resetSocket } from '../../tcp/reset-socket.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import type { TunnelOpener } from '../tunnel/tunnel-opener.ts'
import { BodyGatherer } from './body-gatherer.ts'
import { BodyReader } from './body-reader.ts'
import { BodyRefused } from './body-refused.ts'
import { errorResponse } from './error-response.ts'
import { MalformedHttp } from './fields.ts'
import { isSkippable, plainDestination, type ProxiedRequest } from './proxied-request.ts'
import { HeadTooLarge, ReceivedBytes } from './received-bytes.ts'
import { refusalForm } from './refusal-form.ts'
import { parseRequestHead, type RequestHead } from './request-head.ts'
import type { BodyWork, RequestHooks } from './request-hooks.ts'
import { RequestRun, type RunOwner } from './request-run.ts'
import { connectTarget, requestTarget, tunnelledTarget, type RequestTarget } from './request-target.ts'
import { SessionRecord } from './session-record.ts'
import { TunnelRequest, type TunnelRequestOwner } from './tunnel-request.ts'
import type { TunnelScope } from './tunnel-scope.ts'
import { poolKey, type UpstreamPool } from './upstream-pool.ts'

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
const HEAD_LIMIT_MS = 30_000
const IDLE_LIMIT_MS = 10 * 60_000
/** An exchange without a byte either way ends after this, as an idle tunnel does. */
const EXCHANGE_IDLE_LIMIT_MS = 60 * 60_000
/** How long a client may go on sending after it was told that the connection closes. */
const LINGER_MS = 2000

/** A request whose body is gathered before it goes on. */
interface Gathering {
  body: BodyGatherer
  work: BodyWork
  head: RequestHead
  target: RequestTarget
  hooked: Pick<ProxiedRequest, 'injected' | 'onResponse'>
}

type State =
  /** Between requests, or in the middle of a head. */
  | 'head'
  /** The body of a request is held until it is complete, because a hook has to look into it. */
  | 'gathering'
  /** A request runs, or a tunnel is being opened. */
  | 'running'
  /** The body of a refused request is read and dropped. */
  | 'discarding'
  /** The last response is out; what still comes is dropped until the client closes. */
  | 'lingering'
  | 'ended'

export class ClientSession implements RunOwner, TunnelRequestOwner, LiveConnection, ClientSink {
  readonly socket: ByteSocket
  attribution: Attribution
  readonly opaque = false
  place: LiveConnection['place']
  private state: State = 'head'
  private readonly received = new ReceivedBytes()
  private readonly record: SessionRecord
  private run: RequestRun | undefined
  private tunnel: TunnelRequest | undefined
  private discard: BodyReader | undefined
  private gathering: Gathering | undefined
  private pumping = false
  /** Since when the session waits for the client, or for bytes of an exchange. */
  private waitingSinceMs: number
  private bytesSeen = 0

  /**
   * `listenerAttribution` is set when the listener itself belongs to one lease, `scope` when the requests
   * come out of an inspected tunnel.
   */
  constructor(
    readonly connection: ClientConnection,
    private readonly serving: HttpServing,
    private readonly listenerAttribution: Attribution | undefined,
    private readonly scope?: TunnelScope,
  ) {
    this.socket = connection.socket
    this.attribution = listenerAttribution ?? UNATTRIBUTED
    this.record = new SessionRecord(serving.log, connection.socket, scope)
    this.waitingSinceMs = serving.log.nowMs()
  }

  get destination(): Destination | undefined {
    return (this.run?.request ?? this.tunnel)?.destination
  }

  /** Takes over the connection; `early` was read from it already. */
  start(early: Buffer): void {
    this.serving.live.add(this)
    this.connection.sink = this
    this.onClientBytes(early)
  }

  onClientBytes(bytes: Buffer): void {
    switch (this.state) {
      case 'head':
        this.received.push(bytes)
        return this.pump()
      case 'running':
        if (this.run?.wantsBody) return this.sendBody(this.run, bytes)
        return this.keepAhead(bytes)
      case 'gathering':
        return this.gather(bytes)
      case 'discarding':
        return this.discardBody(bytes)
      default:
    }
  }

  private keepAhead(bytes: Buffer): void {
    this.received.push(bytes)
    if (this.received.length > MAX_AHEAD_BYTES) this.connection.pause()
  }

  /** Starts requests from what was received, until one has to wait. */
  private pump(): void {
    if (this.pumping) return
    this.pumping = true
    while (this.state === 'head' && this.readHead());
    this.pumping = false
    if (this.state === 'head' && this.connection.ended) this.linger()
  }

  /** Begins the next request; false when its head is not complete. */
  private readHead(): boolean {
    try {
      const head = this.received.takeHead()
      if (head === undefined) return false
      this.begin(parseRequestHead(head))
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
    this.beginRequest(head, scope)
  }

  private beginRequest(head: RequestHead, scope: TunnelScope | undefined): void {
    const { hooks } = this.serving
    const target = scope ? tunnelledTarget(head, scope) : requestTarget(head)
    if (head.isWebSocketUpgrade && head.framing.kind !== 'none') throw new MalformedHttp('a body in an upgrade request')
    const destination = this.destinationOf(head, target)
    const ruling = this.judge(head, destination)
    if (ruling.verdict === 'deny') return this.block(head, destination, ruling.refusal)
    const hooked = hooks.apply(head, target)
    if (hooked.refusal) return this.block(head, destination, hooked.refusal)
    const { path, bodyWork } = hooked
    if (bodyWork) this.startGathering(head, target, hooked, bodyWork)
    else this.launch(head, path === undefined ? target : { ...target, path }, destination, hooked, ruling)
  }

  private destinationOf(head: RequestHead, target: RequestTarget): Destination {
    return this.scope?.destinationOf(head.method) ?? plainDestination(head, target)
  }

  private judge(head: RequestHead, destination: Destination): Ruling {
    const { scope, attribution } = this
    return scope?.judge(head.method, head.isWebSocketUpgrade) ?? this.serving.admission.judge(destination, attribution)
  }

  private launch(
    head: RequestHead,
    target: RequestTarget,
    destination: Destination,
    { injected, onResponse }: Pick<ProxiedRequest, 'injected' | 'onResponse'>,
    ruling: Exclude<Ruling, { verdict: 'deny' }>,
  ): void {
    const parent = this.serving.admission.parentFor(destination)
    const key = head.isWebSocketUpgrade ? undefined : poolKey(target, parent)
    const record =
      ruling.verdict === 'allow'
        ? this.record.allow(destination, this.attribution, ruling.ruleId)
        : this.record.begin(destination, this.attribution)
    this.startRun({ head, target, destination, parent, poolKey: key, injected, onResponse }, record).start(ruling)
  }

  private startGathering(head: RequestHead, target: RequestTarget, hooked: Gathering['hooked'], work: BodyWork): void {
    const body = new BodyGatherer(head.framing, work.maxBytes)
    this.gathering = { body, work, head, target, hooked }
    this.state = 'gathering'
    this.waitingSinceMs = this.serving.log.nowMs()
    if (body.done) return this.gathered(this.gathering, undefined)
    if (head.expectsContinue) this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    const ahead = this.received.take()
    if (ahead) this.gather(ahead)
  }

  private gather(bytes: Buffer): void {
    const { gathering } = this
    if (!gathering) return
    try {
      const at = gathering.body.read(bytes)
      if (gathering.body.done) this.gathered(gathering, at < bytes.length ? bytes.subarray(at) : undefined)
    } catch (error) {
      this.answerMalformed(error)
    }
  }

  /** The body is whole: it is changed, the request judged again, for that took a while, and sent on. */
  private gathered({ body, work, head, target, hooked }: Gathering, rest: Buffer | undefined): void {
    this.gathering = undefined
    const done = work.finish(body.take())
    head.framing = done.body.length === 0 ? { kind: 'none' } : { kind: 'length', bytes: done.body.length }
    if (done.body.length > 0) this.received.push(done.body)
    if (rest) this.received.push(rest)
    const destination = this.destinationOf(head, target)
    const ruling = this.judge(head, destination)
    if (ruling.verdict === 'deny') return this.block(head, destination, ruling.refusal)
    this.launch(head, { ...target, path: done.path ?? target.path }, destination, hooked, ruling)
  }

  private startRun(request: ProxiedRequest, record: ConnectionRecord): RequestRun {
    this.state = 'running'
    this.run = new RequestRun(request, record, this.serving, this)
    return this.run
  }

  private block(head: RequestHead, destination: Destination, refusal: Refusal): void {
    this.record.block(destination, this.attribution, refusal)
    this.answerRefusal(head, destination, refusal)
  }

  private beginTunnel(head: RequestHead): void {
    if (head.framing.kind !== 'none') throw new MalformedHttp('a body in a CONNECT request')
    const { admission, tunnels } = this.serving
    const { attribution } = this
    const { host, port } = connectTarget(head, this.socket)
    const destination: Destination = { host, port, protocol: 'https', method: 'CONNECT' }
    const request = new TunnelRequest(destination, this)
    const ruling = admission.judge(destination, attribution)
    if (ruling.verdict === 'deny') {
      this.record.block(destination, attribution, ruling.refusal)
      return request.refuse(ruling.refusal)
    }
    this.state = 'running'
    this.tunnel = request
    const record = this.record.begin(destination, attribution)
    void tunnels.open(request, { destination, attribution, record, presence: request.presence }, ruling)
  }

  private beginUnixSocket(head: RequestHead): void {
    const path = head.fields.get(UNIX_SOCKET_HEADER) ?? ''
    if (head.fields.count(UNIX_SOCKET_HEADER) > 1 || /[^\x20-\x7e]/.test(path))
      throw new MalformedHttp('a socket path that is not ASCII, or two of them')
    head.fields.remove(UNIX_SOCKET_HEADER)
    const destination: Destination = { host: UNIX_SOCKET_HOST, port: 0, protocol: 'http', method: head.method }
    const common = { parent: undefined, poolKey: undefined, injected: [], onResponse: undefined }
    const request = { head, target: requestTarget(head), destination, ...common }
    void this.startRun(request, this.record.begin(destination, this.attribution)).startUnixSocket(path)
  }

  exchangeStarted(): void {
    const { run } = this
    if (!run?.wantsBody) return
    const ahead = this.received.take()
    if (ahead) this.sendBody(run, ahead)
    if (this.run !== run || !run.wantsBody) return
    // The end of the client's side came while the connection was being made.
    if (this.connection.ended) this.end()
    else this.connection.resume()
  }

  private sendBody(run: RequestRun, bytes: Buffer): void {
    try {
      const at = run.sendBody(bytes)
      if (at < bytes.length) this.keepAhead(bytes.subarray(at))
    } catch (error) {
      run.abandon()
      this.answerMalformed(error)
    }
  }

  answered(keepAlive: boolean): void {
    this.requestOver()
    if (keepAlive) this.toNextRequest()
    else this.linger()
  }

  refused({ head, destination }: ProxiedRequest, refusal: Refusal): void {
    this.answerRefusal(head, destination, refusal)
  }

  failed({ head }: ProxiedRequest, problem: string): void {
    const keepAlive = head.keepAlive && head.framing.kind === 'none'
    this.socket.write(errorResponse(502, problem, keepAlive))
    this.afterAnswer(head, keepAlive)
  }

  torn(): void {
    this.detach()
    resetSocket(this.socket)
  }

  upgraded({ destination }: ProxiedRequest, upstream: UpstreamConnection, record: ConnectionRecord): void {
    const { attribution } = this
    const ahead = this.handOver()
    this.serving.tunnels.relayUpgraded(this.connection, upstream, { destination, attribution, record }, ahead)
  }

  handOver(): Buffer | undefined {
    const ahead = this.received.take()
    this.record.release()
    this.detach()
    return ahead
  }

  /** The connection goes on when the rest of the refused request is small enough to skip. */
  private answerRefusal(head: RequestHead, destination: Destination, refusal: Refusal): void {
    const keepAlive = head.keepAlive && isSkippable(head)
    this.socket.write(httpRefusal(refusal, destination, keepAlive, refusalForm(head.fields, this.scope !== undefined)))
    this.afterAnswer(head, keepAlive)
  }

  private answerMalformed(error: unknown): void {
    if (error instanceof BodyRefused) return this.finalAnswer(errorResponse(error.status, error.message, false))
    if (error instanceof HeadTooLarge) return this.finalAnswer(errorResponse(431, error.message, false))
    if (!(error instanceof MalformedHttp)) throw error
    this.finalAnswer(errorResponse(400, error.message, false))
  }

  finalAnswer(answer: Buffer): void {
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
    const ahead = this.received.take()
    if (ahead) this.discardBody(ahead)
    else this.connection.resume()
  }

  private discardBody(bytes: Buffer): void {
    if (!this.discard) return
    const at = this.discard.read(bytes, 0, () => {})
    if (!this.discard.done) return
    this.discard = undefined
    if (at < bytes.length) this.received.push(bytes.subarray(at))
    this.toNextRequest()
  }

  private requestOver(): void {
    this.run = undefined
    this.gathering = undefined
    this.tunnel = undefined
  }

  private toNextRequest(): void {
    this.state = 'head'
    this.waitingSinceMs = this.serving.log.nowMs()
    this.connection.resume()
    if (this.received.length > 0 || this.connection.ended) this.pump()
  }

  /**
   * Ends our side and reads on for a moment: closing with unread bytes would reset the connection and
   * take the answer away from the client.
   */
  private linger(): void {
    this.state = 'lingering'
    this.received.take()
    this.waitingSinceMs = this.serving.log.nowMs()
    if (this.connection.ended) return this.socket.destroySoon()
    this.socket.end()
    this.connection.resume()
  }

  onClientEnd(): void {
    if (this.state === 'running') {
      // One that has closed and one that only ended its side look alike; nobody asks for the absent.
      if (this.run?.wantsBody || this.record.current?.state === 'asked') this.end()
    } else if (this.state !== 'ended') this.linger()
  }

  onClientClose(): void {
    this.end()
  }

  end(refusal?: Refusal): void {
    if (this.state === 'ended') return
    const { run, tunnel } = this
    this.detach()
    tunnel?.presence.leave()
    run?.abandon()
    this.record.close(refusal)
    if (run?.hasStarted) resetSocket(this.socket)
    else this.socket.destroy()
  }

  private detach(): void {
    this.state = 'ended'
    this.received.take()
    this.requestOver()
    this.connection.sink = undefined
    this.serving.live.delete(this)
  }

  tick(nowMs: number): void {
    const waitedMs = nowMs - this.waitingSinceMs
    switch (this.state) {
      case 'lingering':
        if (waitedMs > LINGER_MS) this.end()
        return
      case 'running':
        if (this.run?.hasStarted) this.tickExchange(nowMs, waitedMs)
        return
      case 'gathering':
        if (waitedMs > IDLE_LIMIT_MS) this.end()
        return
      case 'head':
        if (this.received.length > 0 && waitedMs > HEAD_LIMIT_MS)
          this.finalAnswer(errorResponse(408, 'the request head did not arrive within 30 seconds', false))
        else if (waitedMs > IDLE_LIMIT_MS) this.end()
        return
      default:
    }
  }

  private tickExchange(nowMs: number, waitedMs: number): void {
    const { current } = this.record
    const bytes = current ? current.bytesIn + current.bytesOut : 0
    if (bytes === this.bytesSeen) {
      if (waitedMs > EXCHANGE_IDLE_LIMIT_MS) this.end()
      return
    }
    this.bytesSeen = bytes
    this.waitingSinceMs = nowMs
  }
}
