/** One request on its way to an origin and the response on its way back, both streamed. */
import type { ClientConnection } from '../client-connection.ts'
import type { UpstreamConnection, UpstreamSink } from '../dial/upstream-connection.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import { forwardBytes, isBehind, resumeWhenTaken } from '../tcp/bulk-reader.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { BodyReader } from './body-reader.ts'
import { CHUNK_END, chunkStart, lastChunk } from './chunked.ts'
import { MalformedHttp, MAX_HEAD_BYTES } from './fields.ts'
import { requestHeadText, responseHeadText, type RequestForm } from './forwarded-head.ts'
import type { RequestHead } from './request-head.ts'
import type { RequestTarget } from './request-target.ts'
import { parseResponseHead, type ResponseHead } from './response-head.ts'

export interface ExchangeOutcome {
  /** The client's connection lives on. */
  keepAlive: boolean
  /** The origin's connection can carry another request. */
  upstreamReusable: boolean
  /** The origin knows who speaks by the connection (NTLM, Negotiate): nobody else may use it. */
  upstreamBound: boolean
}

/** The client's side of an exchange. Exactly one of these is called, once, at the end. */
export interface ExchangeOwner {
  /** The response is out. */
  exchangeDone(exchange: Exchange, outcome: ExchangeOutcome): void
  /** A kept-alive origin connection was dead before a byte of response came; nothing was done. */
  exchangeStale(exchange: Exchange): void
  /** No response can be had; nothing has been sent to the client yet. */
  exchangeFailed(exchange: Exchange, problem: string): void
  /** The response broke in the middle: only an abrupt end tells the client so. */
  exchangeTorn(exchange: Exchange, problem: string): void
  /** The origin switched protocols; `early` are its first bytes after the head. */
  exchangeUpgraded(exchange: Exchange, early: Buffer): void
}

export interface ExchangeParts {
  head: RequestHead
  target: RequestTarget
  upstream: UpstreamConnection
  record: ConnectionRecord
  client: ClientConnection
  form: RequestForm
  /** The upstream connection has carried requests before. */
  reused: boolean
  /** Sees, and may change, the head of the answer before the client does. */
  onResponse?: ((head: ResponseHead) => void) | undefined
}

const HEAD_END = Buffer.from('\r\n\r\n')
/** Schemes that authenticate a connection rather than a request. */
const BOUND_SCHEME = /^(?:ntlm|negotiate)\b/i

export class Exchange implements UpstreamSink {
  readonly head: RequestHead
  readonly upstream: UpstreamConnection
  readonly record: ConnectionRecord
  private readonly client: ByteSocket
  private readonly requestBody: BodyReader
  private responseBody: BodyReader | undefined
  private response: ResponseHead | undefined
  /** The start of a response head that is not complete yet. */
  private partial: Buffer | undefined
  private sawResponse = false
  private encodesChunks = false
  private keepAlive = false
  private ended = false

  constructor(
    private readonly parts: ExchangeParts,
    private readonly owner: ExchangeOwner,
  ) {
    this.head = parts.head
    this.upstream = parts.upstream
    this.record = parts.record
    this.client = parts.client.socket
    this.requestBody = BodyReader.of(parts.head.framing)
    this.upstream.sink = this
  }

  get requestComplete(): boolean {
    return this.requestBody.done
  }

  sendHead(): void {
    const text = requestHeadText(this.head, this.parts.target, this.parts.form)
    this.record.bytesOut += text.length
    this.upstream.socket.write(text, 'latin1')
    this.upstream.expectAnswer()
  }

  /**
   * Takes request body bytes from the client; returns the offset of the first byte after the body.
   * @throws MalformedHttp when the body is not what its framing says
   */
  sendBody(bytes: Buffer, from: number): number {
    const { socket } = this.upstream
    const chunked = this.requestBody.kind === 'chunked'
    socket.cork()
    const at = this.requestBody.read(bytes, from, (start, end) => {
      this.record.bytesOut += end - start
      if (chunked) socket.write(chunkStart(end - start), 'latin1')
      socket.write(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))
      if (chunked) socket.write(CHUNK_END, 'latin1')
    })
    if (this.requestBody.done && chunked) socket.write(lastChunk(this.requestBody.trailers), 'latin1')
    socket.uncork()
    if (!this.requestBody.done && isBehind(socket)) this.parts.client.pause()
    return at
  }

  onDrain(): void {
    if (!this.requestBody.done) this.parts.client.resume()
  }

  /** The client is gone or the exchange is no longer wanted. */
  abort(): void {
    if (!this.finish()) return
    this.upstream.destroy(true)
  }

  onBytes(bytes: Buffer): void {
    this.sawResponse = true
    this.record.bytesIn += bytes.length
    try {
      this.readResponse(bytes)
    } catch (error) {
      if (!(error instanceof MalformedHttp)) throw error
      this.break(`the origin's response has ${error.message}`)
    }
  }

  private readResponse(bytes: Buffer): void {
    if (this.responseBody) return this.relayBody(bytes, 0)
    const source = this.partial ? Buffer.concat([this.partial, bytes]) : bytes
    for (let at = 0; ;) {
      const end = source.indexOf(HEAD_END, at)
      if (end < 0) return this.keepPartial(source.subarray(at))
      const head = parseResponseHead(source.toString('latin1', at, end), this.head.method)
      at = end + HEAD_END.length
      if (head.status === 101) return this.switchProtocols(head, source.subarray(at))
      if (head.status >= 200) return this.startResponse(head, source, at)
      this.relayInterim(head)
    }
  }

  private keepPartial(rest: Buffer): void {
    if (rest.length > MAX_HEAD_BYTES) throw new MalformedHttp(`a head of more than ${MAX_HEAD_BYTES} bytes`)
    this.partial = rest.length === 0 ? undefined : Buffer.from(rest)
  }

  /** 100 Continue, 103 Early Hints: meant for clients that know them. */
  private relayInterim(head: ResponseHead): void {
    if (this.head.minorVersion === 0) return
    this.parts.onResponse?.(head)
    this.client.write(responseHeadText(head, { minorVersion: 1, keepAlive: true, chunked: false }), 'latin1')
  }

  private switchProtocols(head: ResponseHead, early: Buffer): void {
    if (!this.head.isWebSocketUpgrade) throw new MalformedHttp('a protocol switch that nobody asked for')
    this.parts.onResponse?.(head)
    this.client.write(responseHeadText(head, { minorVersion: 1, keepAlive: true, chunked: false }), 'latin1')
    const rest = Buffer.from(early)
    this.finish()
    this.owner.exchangeUpgraded(this, rest)
  }

  private startResponse(head: ResponseHead, source: Buffer, bodyAt: number): void {
    const { minorVersion } = this.head
    const body = BodyReader.of(head.framing)
    this.parts.onResponse?.(head)
    this.response = head
    this.responseBody = body
    this.encodesChunks = minorVersion === 1 && body.kind === 'chunked'
    // With request bytes outstanding the next request cannot be told from the rest of this one.
    this.keepAlive =
      this.head.keepAlive &&
      this.requestBody.done &&
      body.kind !== 'close' &&
      (body.kind !== 'chunked' || this.encodesChunks)
    const text = responseHeadText(head, { minorVersion, keepAlive: this.keepAlive, chunked: this.encodesChunks })
    if (this.encodesChunks) {
      this.client.write(text, 'latin1')
      return this.relayBody(source, bodyAt)
    }
    // Head and first body bytes in one write: for most responses that is the only one.
    const first = Buffer.allocUnsafe(text.length + source.length - bodyAt)
    let length = first.write(text, 0, 'latin1')
    const at = body.read(source, bodyAt, (start, end) => {
      length += source.copy(first, length, start, end)
    })
    this.write(length === first.length ? first : first.subarray(0, length))
    this.afterBody(source, at)
  }

  private relayBody(bytes: Buffer, from: number): void {
    const body = this.responseBody!
    const at = body.read(bytes, from, (start, end) => {
      if (this.encodesChunks) this.write(encodeChunk(bytes, start, end))
      else forwardBytes(this.upstream, this.client, bytes.subarray(start, end), this.onClientTaken)
    })
    if (body.done && this.encodesChunks) this.client.write(lastChunk(body.trailers), 'latin1')
    this.afterBody(bytes, at)
  }

  /** Writes bytes that nobody else will touch. */
  private write(bytes: Buffer): void {
    this.client.write(bytes, this.onClientTaken)
    if (isBehind(this.client)) this.upstream.pause()
  }

  private readonly onClientTaken = (): void => {
    // The origin's connection may serve somebody else by now, who holds it back for reasons of their own.
    if (!this.ended) resumeWhenTaken(this.upstream, this.client)
  }

  private afterBody(bytes: Buffer, at: number): void {
    if (!this.responseBody!.done) return
    const clean = at === bytes.length
    this.complete(clean)
  }

  private complete(clean: boolean): void {
    const upstreamReusable = clean && this.response!.keepAlive && this.requestBody.done
    if (!this.finish()) return
    // Its next user must not wait for this client.
    if (upstreamReusable) this.upstream.startOver()
    this.owner.exchangeDone(this, { keepAlive: this.keepAlive, upstreamReusable, upstreamBound: this.isBound() })
  }

  private isBound(): boolean {
    return (
      BOUND_SCHEME.test(this.head.fields.get('authorization') ?? '') ||
      BOUND_SCHEME.test(this.response?.fields.get('www-authenticate') ?? '')
    )
  }

  onEnd(): void {
    if (this.responseBody?.endOfStream()) this.complete(false)
    else this.break('the origin ended the connection before the response was complete')
  }

  onClose(error: Error | undefined): void {
    const code = (error as NodeJS.ErrnoException | undefined)?.code
    this.break(
      `the origin closed the connection${code === undefined ? '' : ` (${code})`} before the response was complete`,
    )
  }

  private break(problem: string): void {
    const stale = this.parts.reused && !this.sawResponse && this.head.framing.kind === 'none'
    if (!this.finish()) return
    this.upstream.destroy()
    if (stale) this.owner.exchangeStale(this)
    else if (this.response) this.owner.exchangeTorn(this, problem)
    else this.owner.exchangeFailed(this, problem)
  }

  /** True the first time. */
  private finish(): boolean {
    if (this.ended) return false
    this.ended = true
    this.upstream.sink = undefined
    return true
  }
}

function encodeChunk(bytes: Buffer, start: number, end: number): Buffer {
  const size = chunkStart(end - start)
  const chunk = Buffer.allocUnsafe(size.length + end - start + 2)
  const at = chunk.write(size, 0, 'latin1')
  bytes.copy(chunk, at, start, end)
  chunk.write(CHUNK_END, at + end - start, 'latin1')
  return chunk
}
