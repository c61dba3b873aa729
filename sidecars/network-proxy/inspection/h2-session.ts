/** A client connection that speaks HTTP/2 inside an inspected tunnel: every stream is judged for itself. */
import type { EventEmitter } from 'node:events'
import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { ClientPresence } from '../client-presence.ts'
import type { HttpServing } from '../http/client-session.ts'
import { BodyRefused } from '../http/body-refused.ts'
import { MalformedHttp } from '../http/fields.ts'
import type { BodyWork, HookedHead } from '../http/request-hooks.ts'
import { requireTunnel } from '../http/request-target.ts'
import { refusalForm } from '../http/refusal-form.ts'
import type { TunnelScope } from '../http/tunnel-scope.ts'
import type { Attribution } from '../leases.ts'
import type { LiveConnection } from '../live-connections.ts'
import { parseAuthority } from '../policy/authority.ts'
import { InvalidHost } from '../../protocol/host-pattern.ts'
import { refusalBody, refusalCode, refusalStatus, type Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { SeenExchange } from '../records/exchange-log.ts'
import { H2Exchange } from './h2-exchange.ts'
import { readH2Request, type H2Request } from './h2-request.ts'
import { OriginLink } from './origin-link.ts'

export interface H2SessionParts {
  /** Handshake done, `h2` agreed. */
  tls: TLSSocket
  serving: HttpServing
  attribution: Attribution
  scope: TunnelScope
  exempt: boolean
}

const IDLE_LIMIT_MS = 10 * 60_000
const MAX_STREAMS = 128
const WINDOW_BYTES = 1024 * 1024
const SESSION_WINDOW_BYTES = 8 * 1024 * 1024
const MAX_HEADER_BYTES = 64 * 1024

/** Never listens: connections are given to it one by one. */
let acceptor: Http2Server | undefined

function acceptSession(tls: TLSSocket): ServerHttp2Session {
  acceptor ??= createServer({
    settings: {
      maxConcurrentStreams: MAX_STREAMS,
      initialWindowSize: WINDOW_BYTES,
      maxHeaderListSize: MAX_HEADER_BYTES,
    },
  })
  let accepted: ServerHttp2Session | undefined
  acceptor.once('session', (session) => (accepted = session))
  acceptor.emit('connection', tls)
  if (!accepted) throw new Error('node:http2 made no session of a connection')
  return accepted
}

export class H2Session implements LiveConnection {
  readonly opaque = false
  readonly attribution: Attribution
  private session: ServerHttp2Session | undefined
  private readonly active = new Map<ServerHttp2Stream, H2Request>()
  private readonly presence = new ClientPresence()
  private readonly origin: OriginLink
  private activeAtMs: number
  private ended = false

  constructor(private readonly parts: H2SessionParts) {
    const { serving, attribution, scope, exempt } = parts
    this.attribution = attribution
    this.activeAtMs = serving.log.nowMs()
    this.origin = new OriginLink({
      admission: serving.admission,
      attempt: { destination: scope.destinationOf('GET'), attribution, record: scope.record, presence: this.presence },
      exempt,
    })
  }

  get destination(): Destination | undefined {
    const { host, port } = this.parts.scope
    return this.active.size > 0 ? { host, port, protocol: 'https' } : undefined
  }

  start(): void {
    this.parts.serving.live.add(this)
    const session = acceptSession(this.parts.tls)
    this.session = session
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    session.on('error', () => {
      // Told by `close`.
    })
    session.on('close', () => this.end())
    // node:http2 gives the header list as it came as a fourth argument, which its types leave out.
    const events: EventEmitter = session
    events.on('stream', (stream: ServerHttp2Stream, _headers: unknown, _flags: number, list: string[]) =>
      this.onStream(stream, list),
    )
  }

  private onStream(stream: ServerHttp2Stream, rawHeaders: string[]): void {
    stream.on('error', () => {
      // Told by `close`.
    })
    this.activeAtMs = this.parts.serving.log.nowMs()
    try {
      this.begin(stream, readH2Request(rawHeaders, stream.endAfterHeaders))
    } catch (error) {
      answerUnusable(stream, error)
    }
  }

  private begin(stream: ServerHttp2Stream, request: H2Request): void {
    const { scope, serving } = this.parts
    const { method, path, fields } = request
    if (method === 'CONNECT' || method === 'TRACE')
      return answer(
        stream,
        405,
        { 'x-proxy-error': 'bad-request' },
        `Gatehouse proxy: ${method} cannot be used here.\n`,
      )
    requireTunnel(readAuthority(request.authority), scope)
    const ruling = scope.judge(method, false)
    if (ruling.verdict !== 'allow')
      return this.refuse(stream, request, ruling.verdict === 'deny' ? ruling.refusal : NOT_ALLOWED)
    const { host, port } = scope
    const hooked = serving.hooks.apply({ method, fields }, { host, port, tls: true, path })
    if (hooked.refusal) return this.refuse(stream, request, hooked.refusal)
    this.active.set(stream, request)
    stream.once('close', () => this.active.delete(stream))
    if (hooked.bodyWork) void this.gather(stream, request, hooked, hooked.bodyWork)
    else this.exchange(stream, { ...request, path: hooked.path ?? path }, hooked)
  }

  /** Waits for the whole body, because a hook has to look into it. */
  private async gather(
    stream: ServerHttp2Stream,
    request: H2Request,
    hooked: Passed,
    { maxBytes, finish }: BodyWork,
  ): Promise<void> {
    try {
      const whole = request.hasBody ? await wholeBody(stream, maxBytes) : Buffer.alloc(0)
      if (whole === undefined) return
      const { body, path } = finish(whole)
      this.exchange(stream, { ...request, path: path ?? request.path, hasBody: body.length > 0, body }, hooked)
    } catch (error) {
      answerUnusable(stream, error)
    }
  }

  private exchange(stream: ServerHttp2Stream, request: H2Request, hooked: Passed): void {
    const { scope, serving } = this.parts
    const { method, path, fields } = request
    scope.record.requests++
    const seen: SeenExchange = scope.record.seeExchange({
      atMs: serving.log.nowMs(),
      method,
      path,
      request: fields,
      injected: hooked.injected,
    })
    void new H2Exchange({
      stream,
      request,
      origin: this.origin,
      record: scope.record,
      onResponse: (status, response) => {
        hooked.onResponse?.({ fields: response })
        seen.status = status
        seen.response = response
      },
      refuse: (refusal) => this.refuse(stream, request, refusal),
    }).run()
  }

  private refuse(stream: ServerHttp2Stream, { method, fields }: H2Request, refusal: Refusal): void {
    const { scope, serving } = this.parts
    const destination = scope.destinationOf(method)
    serving.log.block(destination, this.attribution, this.parts.tls, refusal).inspected = true
    const { type, body } = refusalBody(refusal, destination, refusalForm(fields, true))
    const headers = {
      'content-type': type,
      'x-proxy-error': refusalCode(refusal.reason),
      'x-gatehouse-reason': refusal.reason,
    }
    answer(stream, Number(refusalStatus(refusal).slice(0, 3)), headers, body)
  }

  /** Streams that the rules or the mode now forbid end; the others go on. */
  rulesChanged(): void {
    for (const [stream, { method }] of this.active)
      if (this.parts.scope.judge(method, false).verdict === 'deny') stream.close(constants.NGHTTP2_CANCEL)
  }

  tick(nowMs: number): void {
    if (this.active.size > 0) this.activeAtMs = nowMs
    else if (nowMs - this.activeAtMs > IDLE_LIMIT_MS) this.session?.close()
  }

  end(refusal?: Refusal): void {
    if (this.ended) return
    this.ended = true
    const { serving, scope, tls } = this.parts
    serving.live.delete(this)
    this.presence.leave()
    this.origin.close()
    const nowMs = serving.log.nowMs()
    if (refusal) scope.record.blocked(refusal, nowMs)
    scope.record.closed(nowMs)
    this.session?.destroy()
    tls.destroy()
  }
}

/** A head that hooks have let through. */
type Passed = Exclude<HookedHead, { refusal: Refusal }>

const NOT_ALLOWED: Refusal = { reason: 'not_allowed', source: 'baseline_policy' }

function readAuthority(text: string): ReturnType<typeof parseAuthority> {
  try {
    return parseAuthority(text)
  } catch (error) {
    if (error instanceof InvalidHost) throw new MalformedHttp('no usable :authority')
    throw error
  }
}

/** Undefined when the client leaves before the end. @throws BodyRefused */
function wholeBody(stream: ServerHttp2Stream, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    let lengthBytes = 0
    stream.on('data', (part: Buffer) => {
      lengthBytes += part.length
      if (lengthBytes <= maxBytes) parts.push(part)
      else reject(BodyRefused.tooLarge(maxBytes))
    })
    stream.once('end', () => resolve(stream.aborted ? undefined : Buffer.concat(parts)))
    stream.once('close', () => resolve(undefined))
  })
}

/** What was asked cannot be done with what came. */
function answerUnusable(stream: ServerHttp2Stream, error: unknown): void {
  if (!(error instanceof MalformedHttp) && !(error instanceof BodyRefused)) throw error
  const status = error instanceof BodyRefused ? error.status : 400
  answer(stream, status, { 'x-proxy-error': 'bad-request' }, `Gatehouse proxy: ${error.message}.\n`)
}

/** An answer of the proxy itself. What the client still sends for the stream is not wanted. */
function answer(stream: ServerHttp2Stream, status: number, headers: Record<string, string>, body: string): void {
  if (stream.destroyed || stream.headersSent) return
  const bytes = Buffer.from(body)
  stream.respond({
    ':status': status,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': bytes.length,
    ...headers,
  })
  stream.end(bytes)
  stream.resume()
}
