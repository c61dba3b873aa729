/** The SDK behind `startTracing`: loaded only when traces are wanted. */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, defaultTextMapGetter } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { envDetectorSync, Resource } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import type { TraceSubmission } from '../engine/submissions.ts'
import { otlpTarget, OtlpExporter } from './otlp-exporter.ts'
import type { ExporterKind, Tracing } from './start-tracing.ts'
import { StderrExporter } from './stderr-exporter.ts'

const SERVICE = 'gatehouse-app-server'

/**
 * Sampler, batching and resource follow OTEL_TRACES_SAMPLER, OTEL_BSP_*, OTEL_SERVICE_NAME and
 * OTEL_RESOURCE_ATTRIBUTES. @throws for an endpoint that is no http address
 */
export function openTelemetry(kind: ExporterKind, env: NodeJS.ProcessEnv, log: (message: string) => void): Tracing {
  const processor: SpanProcessor =
    kind === 'console'
      ? new SimpleSpanProcessor(new StderrExporter())
      : new BatchSpanProcessor(new OtlpExporter(otlpTarget(env, kind === 'otlp-json' ? 'json' : 'protobuf'), log))
  const resource = new Resource({ 'service.name': SERVICE, 'service.version': GATEHOUSE_VERSION })
    .merge(Resource.default())
    .merge(new Resource({ 'service.name': SERVICE }))
    .merge(envDetectorSync.detect())
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] })
  const tracer = provider.getTracer('gatehouse', GATEHOUSE_VERSION)
  const propagator = new W3CTraceContextPropagator()

  const submission: TraceSubmission = (op, id, threadId, carrier) => {
    const parent = carrier ? propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter) : ROOT_CONTEXT
    if (carrier && !trace.getSpanContext(parent))
      log(`a request's trace is no W3C trace context and was left out: traceparent "${carrier.traceparent}"`)
    const attributes = { 'submission.id': id, 'submission.op': op, 'thread.id': threadId }
    const span = tracer.startSpan(`op.dispatch.${op}`, { kind: SpanKind.INTERNAL, attributes }, parent)
    return {
      end(error?: unknown) {
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).message })
        span.end()
      },
    }
  }
  return { trace: submission, shutdown: () => provider.shutdown().catch(() => undefined) } // The exporter has told why.
}
