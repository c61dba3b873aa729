/** `OTEL_TRACES_EXPORTER=console`: one JSON line for each span on stderr, since stdout may carry a protocol. */
import { ExportResultCode, hrTimeToMilliseconds, type ExportResult } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'

export class StderrExporter implements SpanExporter {
  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    for (const span of spans) {
      const { traceId, spanId } = span.spanContext()
      const line = {
        name: span.name,
        traceId,
        spanId,
        parentSpanId: span.parentSpanId ?? null,
        startedAt: new Date(hrTimeToMilliseconds(span.startTime)).toISOString(),
        durationMs: hrTimeToMilliseconds(span.duration),
        attributes: span.attributes,
        status: span.status,
      }
      process.stderr.write(`${JSON.stringify(line)}\n`)
    }
    done({ code: ExportResultCode.SUCCESS })
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }
}
