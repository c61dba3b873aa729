/**
 * Forwards `POST /v1/responses` and nothing else, adding the key that its clients must not have. Answers
 * stream: every piece goes out when it comes in.
 */
import { createServer, request as requestHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ApiKey } from './api-key.ts'
import type { DumpHeader, ExchangeDumps } from './exchange-dump.ts'

export interface ResponsesServerOptions {
  /** 0 = any free port of 127.0.0.1. */
  port: number
  upstream: URL
  key: ApiKey
  dumps: ExchangeDumps | undefined
  /** Called for `GET /shutdown`; undefined = that is refused like everything else. */
  onShutdown: (() => void) | undefined
  onProblem(problem: string): void
}

const ROUTE = '/v1/responses'
const NOT_FORWARDED = new Set(['authorization', 'host'])
const NOT_MIRRORED = new Set(['content-length', 'transfer-encoding', 'connection', 'trailer', 'upgrade'])

export class ResponsesServer {
  private readonly server: Server

  private constructor(private readonly options: ResponsesServerOptions) {
    this.server = createServer((request, response) => void this.serve(request, response))
    // A model may think for minutes before the first byte of an answer.
    this.server.requestTimeout = 0
  }

  /** Listens on loopback. Rejects with the operating system's error. */
  static open(options: ResponsesServerOptions): Promise<ResponsesServer> {
    const server = new ResponsesServer(options)
    return new Promise((resolve, reject) => {
      server.server.once('error', reject)
      server.server.listen({ host: '127.0.0.1', port: options.port }, () => resolve(server))
    })
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { onShutdown } = this.options
    if (onShutdown && request.method === 'GET' && request.url === '/shutdown') {
      response.writeHead(200).end(onShutdown)
      return
    }
    if (request.method !== 'POST' || request.url !== ROUTE) {
      request.resume()
      response.writeHead(403).end()
      return
    }
    try {
      await this.forward(request, response)
    } catch (error) {
      this.fail(response, error as Error)
    }
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { upstream, key, dumps } = this.options
    const body = await readAll(request)
    const headers = forwardedHeaders(request, body.length)
    const dump = dumps?.begin({ method: 'POST', url: ROUTE, headers: dumpable(request.rawHeaders), body })
    const send = upstream.protocol === 'https:' ? requestHttps : requestHttp
    const outgoing = send(upstream, {
      method: 'POST',
      headers: ['host', upstream.host, 'authorization', key.authorization(), ...headers],
    })
    response.on('close', () => outgoing.destroy())
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('error', reject)
      outgoing.on('response', resolve)
      outgoing.end(body)
    })
    const mirrored = pairs(answer.rawHeaders).filter(([name]) => !NOT_MIRRORED.has(name.toLowerCase()))
    response.writeHead(answer.statusCode ?? 502, mirrored.flat())
    response.flushHeaders()
    const kept: Buffer[] = []
    if (dump) {
      answer.on('data', (piece: Buffer) => kept.push(piece))
      answer.on('close', () =>
        dump({ status: answer.statusCode ?? 0, headers: dumpable(answer.rawHeaders), body: Buffer.concat(kept) }),
      )
    }
    answer.on('error', (error) => this.fail(response, error))
    answer.pipe(response)
  }

  private fail(response: ServerResponse, error: Error): void {
    this.options.onProblem(`forwarding failed: ${error.message}`)
    if (response.headersSent) response.destroy()
    else response.writeHead(502, { 'content-type': 'text/plain' }).end('The upstream could not be reached.\n')
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      this.server.closeAllConnections()
    })
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

function forwardedHeaders(request: IncomingMessage, bodyBytes: number): string[] {
  const kept = pairs(request.rawHeaders)
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => !NOT_FORWARDED.has(name) && !NOT_MIRRORED.has(name))
  return [...kept.flat(), 'content-length', String(bodyBytes)]
}

function pairs(raw: string[]): [string, string][] {
  const out: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) out.push([raw[i]!, raw[i + 1]!])
  return out
}

function dumpable(raw: string[]): DumpHeader[] {
  return pairs(raw).map(([name, value]) => ({ name, value }))
}
