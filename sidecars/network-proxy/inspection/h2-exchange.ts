/** One stream of an HTTP/2 client and its answer, streamed both ways with back-pressure and trailers. */
import { request as requestH1, type IncomingMessage } from 'node:http'
import { constants, type ClientHttp2Session, type ClientHttp2Stream, type ServerHttp2Stream } from 'node:http2'
import { Fields, MalformedHttp } from '../http/fields.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import { h2Headers, onHeaderList, readFields, type H2Request } from './h2-request.ts'
import { OriginUnavailable, type Origin, type OriginLink } from './origin-link.ts'

export interface H2ExchangeParts {
  stream: ServerHttp2Stream
  request: H2Request
  origin: OriginLink
  record: ConnectionRecord
  /** Sees, and may change, the answer's fields before the client does. */
  onResponse(status: number, fields: Fields): void
  refuse(refusal: Refusal): void
}

export class H2Exchange {
  constructor(private readonly parts: H2ExchangeParts) {}

  /** Never rejects: whatever goes wrong is told to the client. */
  async run(): Promise<void> {
    const { stream, origin } = this.parts
    let found: Origin
    try {
      found = await origin.acquire()
    } catch (error) {
      if (!(error instanceof OriginUnavailable)) throw error
      return error.refusal ? this.parts.refuse(error.refusal) : this.fail(error.message)
    }
    if (stream.destroyed) return
    if (found.kind === 'h2') this.overH2(found.session)
    else this.overH1(found)
  }

  private overH2(session: ClientHttp2Session): void {
    const { stream, request, origin, record } = this.parts
    let upstream: ClientHttp2Stream
    try {
      upstream = session.request(
        {
          ':method': request.method,
          ':scheme': 'https',
          ':authority': origin.hostValue,
          ':path': request.path,
          ...h2Headers(request.fields),
        },
        { endStream: !request.hasBody, waitForTrailers: request.hasBody && request.body === undefined },
      )
    } catch (error) {
      return this.fail(`the origin's connection cannot take the request: ${(error as Error).message}`)
    }
    let failure: Error | undefined
    upstream.on('error', (error) => (failure = error))
    onHeaderList(upstream, 'headers', (list) => this.reading(() => this.interim(list)))
    onHeaderList(upstream, 'response', (list, flags) => {
      const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      this.reading(() => {
        const pseudo = new Map<string, string>()
        const fields = readFields(list, pseudo)
        this.respond(Number(pseudo.get(':status')), fields, ended)
      })
      if (!ended) upstream.pipe(stream)
    })
    upstream.on('data', (bytes: Buffer) => (record.bytesIn += bytes.length))
    onHeaderList(upstream, 'trailers', (list) => {
      this.reading(() => (this.trailers = readFields(list, new Map())))
    })
    upstream.once('close', () => this.upstreamClosed(upstream.rstCode, failure))
    if (request.hasBody && request.body) {
      record.bytesOut += request.body.length
      upstream.end(request.body)
    } else if (request.hasBody) {
      let trailers = new Fields()
      onHeaderList(stream, 'trailers', (list) => {
        this.reading(() => (trailers = readFields(list, new Map())))
      })
      upstream.once('wantTrailers', () => upstream.sendTrailers(h2Headers(trailers)))
      stream.on('data', (bytes: Buffer) => (record.bytesOut += bytes.length))
      stream.pipe(upstream)
    }
    stream.once('close', () => {
      if (!upstream.closed) upstream.close(stream.rstCode === 0 ? constants.NGHTTP2_CANCEL : stream.rstCode)
    })
  }

  private trailers: Fields | undefined

  private upstreamClosed(code: number, failure: Error | undefined): void {
    const { stream } = this.parts
    if (stream.headersSent) {
      if (code !== constants.NGHTTP2_NO_ERROR && !stream.closed) stream.close(code)
      return
    }
    this.fail(`the origin ended the request (${failure?.message ?? `HTTP/2 code ${code}`})`)
  }

  /** Node's own client does the far side: its reading of responses is strict enough once the request is ours. */
  private overH1({ agent }: Origin & { kind: 'h1' }): void {
    const { stream, request, origin, record } = this.parts
    const upstream = requestH1({
      agent,
      host: origin.hostValue,
      method: request.method,
      path: request.path,
      headers: h1Headers(request, origin.hostValue),
    })
    upstream.on('information', ({ statusCode, rawHeaders }: { statusCode: number; rawHeaders: string[] }) =>
      this.reading(() => this.interim([':status', String(statusCode), ...lowerCaseNames(rawHeaders)])),
    )
    upstream.once('response', (response) => this.relayH1(response))
    upstream.once('error', (error) => this.failedH1(error))
    stream.once('close', () => upstream.destroy())
    if (request.hasBody && !request.body) {
      stream.on('data', (bytes: Buffer) => (record.bytesOut += bytes.length))
      stream.pipe(upstream)
    } else {
      record.bytesOut += request.body?.length ?? 0
      upstream.end(request.body)
    }
  }

  private failedH1(error: Error): void {
    const { stream } = this.parts
    if (stream.headersSent) return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    if (!(error instanceof OriginUnavailable)) return this.fail(`the origin ended the request (${error.message})`)
    if (error.refusal) this.parts.refuse(error.refusal)
    else this.fail(error.message)
  }

  private relayH1(response: IncomingMessage): void {
    const { stream, record } = this.parts
    const ended = this.parts.request.method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304
    this.reading(() =>
      this.respond(response.statusCode ?? 502, readFields(lowerCaseNames(response.rawHeaders), new Map()), ended),
    )
    response.on('data', (bytes: Buffer) => (record.bytesIn += bytes.length))
    response.once('end', () =>
      this.reading(() => (this.trailers = readFields(lowerCaseNames(response.rawTrailers), new Map()))),
    )
    response.once('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR))
    if (ended) response.resume()
    else response.pipe(stream)
  }

  /** A header list that cannot be read ends the exchange, not the process. */
  private reading(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!(error instanceof MalformedHttp)) throw error
      const { stream } = this.parts
      if (stream.headersSent) stream.close(constants.NGHTTP2_PROTOCOL_ERROR)
      else this.fail(`the origin's response has ${error.message}`)
    }
  }

  private interim(raw: readonly string[]): void {
    const { stream } = this.parts
    const pseudo = new Map<string, string>()
    const fields = readFields(raw, pseudo)
    const status = Number(pseudo.get(':status'))
    // 101 does not exist in HTTP/2.
    if (status === 101 || stream.headersSent || stream.destroyed) return
    this.parts.onResponse(status, fields)
    stream.additionalHeaders({ ...h2Headers(fields), ':status': status })
  }

  private respond(status: number, fields: Fields, ended: boolean): void {
    const { stream } = this.parts
    if (stream.destroyed) return
    this.parts.onResponse(status, fields)
    stream.respond({ ...h2Headers(fields), ':status': status }, { endStream: ended, waitForTrailers: !ended })
    if (!ended) stream.once('wantTrailers', () => stream.sendTrailers(h2Headers(this.trailers ?? new Fields())))
  }

  /** 502 with the reason, as long as that can be said. */
  private fail(problem: string): void {
    const { stream, request } = this.parts
    if (stream.destroyed || stream.headersSent) return
    const body = Buffer.from(`Gatehouse proxy: ${problem}.\n`)
    stream.respond({
      ':status': 502,
      'content-type': 'text/plain; charset=utf-8',
      'content-length': body.length,
      'x-proxy-error': 'upstream-failure',
    })
    stream.end(body)
    if (request.hasBody) stream.resume()
  }
}

function h1Headers({ fields, hasBody }: H2Request, host: string): string[] {
  const headers = ['Host', host]
  for (let at = 0; at < fields.keys.length; at++)
    if (fields.keys[at] !== 'te') headers.push(fields.names[at]!, fields.values[at]!)
  if (hasBody && !fields.has('content-length')) headers.push('Transfer-Encoding', 'chunked')
  return headers
}

function lowerCaseNames(raw: readonly string[]): string[] {
  return raw.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text))
}
