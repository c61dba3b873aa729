/** Sends spans to a collector over OTLP/HTTP. */
import { gzipSync } from 'node:zlib'
import { ExportResultCode, type ExportResult } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import { otlpJson, otlpProtobuf } from './otlp-encodings.ts'
import { traceRequest } from './otlp-message.ts'

const DEFAULT_ENDPOINT = 'http://localhost:4318'
const DEFAULT_TIMEOUT_MS = 10_000
const MAX_ATTEMPTS = 4
const BACK_OFF_MS = 500
/** Answers after which the same batch may be taken a moment later (OTLP's own list). */
const AGAIN = new Set([429, 502, 503, 504])

export interface OtlpTarget {
  url: string
  headers: Record<string, string>
  encoding: 'json' | 'protobuf'
  timeoutMs: number
  gzip: boolean
}

/**
 * Where OTEL_EXPORTER_OTLP_* point; the TRACES_ form of each wins. A general endpoint gets `/v1/traces`.
 * @throws Error naming the variable
 */
export function otlpTarget(env: NodeJS.ProcessEnv, encoding: OtlpTarget['encoding']): OtlpTarget {
  const value = (name: string): string | undefined =>
    env[`OTEL_EXPORTER_OTLP_TRACES_${name}`]?.trim() || env[`OTEL_EXPORTER_OTLP_${name}`]?.trim() || undefined
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim()
  const general = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || DEFAULT_ENDPOINT
  const url = own || `${general.replace(/\/+$/, '')}/v1/traces`
  if (!/^https?:\/\/[^/]/.test(url))
    throw new Error(`OTEL_EXPORTER_OTLP_ENDPOINT: expected an http or https address, got "${own || general}"`)
  const timeoutMs = Number(value('TIMEOUT') ?? DEFAULT_TIMEOUT_MS)
  return {
    url,
    headers: headersOf(value('HEADERS') ?? ''),
    encoding,
    timeoutMs: timeoutMs > 0 ? timeoutMs : DEFAULT_TIMEOUT_MS,
    gzip: value('COMPRESSION') === 'gzip',
  }
}

/** `a=1,b=two%20words` */
function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=')
    if (at > 0) headers[pair.slice(0, at).trim().toLowerCase()] = decoded(pair.slice(at + 1).trim())
  }
  return headers
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export class OtlpExporter implements SpanExporter {
  private readonly running = new Set<Promise<void>>()
  /** A collector that is away is told of once. */
  private told = false

  constructor(
    private readonly target: OtlpTarget,
    private readonly log: (message: string) => void,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const sending = this.attempt(spans, done)
    this.running.add(sending)
    void sending.finally(() => this.running.delete(sending))
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.running)
  }

  shutdown(): Promise<void> {
    return this.forceFlush()
  }

  private async attempt(spans: ReadableSpan[], done: (result: ExportResult) => void): Promise<void> {
    try {
      await this.send(spans)
      this.told = false
      done({ code: ExportResultCode.SUCCESS })
    } catch (error) {
      const { message } = (error as Error).cause instanceof Error ? ((error as Error).cause as Error) : (error as Error)
      if (!this.told) this.log(`traces cannot be sent to ${this.target.url}: ${message}`)
      this.told = true
      done({ code: ExportResultCode.FAILED, error: error as Error })
    }
  }

  private async send(spans: ReadableSpan[]): Promise<void> {
    const { url, headers, encoding, timeoutMs, gzip } = this.target
    const request = traceRequest(spans)
    const plain = encoding === 'json' ? Buffer.from(otlpJson(request)) : otlpProtobuf(request)
    const until = Date.now() + timeoutMs
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': encoding === 'json' ? 'application/json' : 'application/x-protobuf',
          ...(gzip && { 'content-encoding': 'gzip' }),
        },
        body: gzip ? gzipSync(plain) : plain,
        signal: AbortSignal.timeout(Math.max(1, until - Date.now())),
      })
      await response.arrayBuffer()
      if (response.ok) return
      const waitMs = 1000 * Number(response.headers.get('retry-after') ?? Number.NaN)
      const pauseMs = Number.isFinite(waitMs) ? waitMs : BACK_OFF_MS * 2 ** (attempt - 1)
      if (!AGAIN.has(response.status) || attempt === MAX_ATTEMPTS || Date.now() + pauseMs > until)
        throw new Error(`the collector answered ${response.status}`)
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
    }
  }
}
