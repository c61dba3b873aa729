/**
 * OpenTelemetry spans for submissions, sent where the standard OTEL_* variables say. Off unless one of
 * them asks for it; then nothing of the SDK is even loaded.
 */
import type { TraceSubmission } from '../engine/submissions.ts'

export interface Tracing {
  trace: TraceSubmission
  /** Sends what still waits; gives up after the exporter's own time limit. */
  shutdown(): Promise<void>
}

/** The kinds of exporter that the variables can name here. */
export type ExporterKind = 'otlp-protobuf' | 'otlp-json' | 'console'

/**
 * What OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_(TRACES_)ENDPOINT and _PROTOCOL ask
 * for; null = no tracing. An endpoint alone is enough to turn it on. `problem` names a value that cannot
 * be used, and tracing stays off.
 */
export function exporterKind(env: NodeJS.ProcessEnv): { kind: ExporterKind | null; problem: string | null } {
  const value = (name: string): string | undefined => env[name]?.trim() || undefined
  const off = { kind: null, problem: null }
  if (value('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return off
  const endpoint = value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? value('OTEL_EXPORTER_OTLP_ENDPOINT')
  const exporter = value('OTEL_TRACES_EXPORTER') ?? (endpoint === undefined ? 'none' : 'otlp')
  if (exporter === 'none') return off
  if (exporter === 'console') return { kind: 'console', problem: null }
  if (exporter !== 'otlp')
    return { kind: null, problem: `OTEL_TRACES_EXPORTER: "${exporter}" is none of otlp, console, none` }
  const protocol =
    value('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? value('OTEL_EXPORTER_OTLP_PROTOCOL') ?? 'http/protobuf'
  if (protocol === 'http/protobuf') return { kind: 'otlp-protobuf', problem: null }
  if (protocol === 'http/json') return { kind: 'otlp-json', problem: null }
  return {
    kind: null,
    problem: `OTEL_EXPORTER_OTLP_PROTOCOL: "${protocol}" is none of http/protobuf, http/json; collectors take these on port 4318`,
  }
}

/** Null when nothing asks for it. Never rejects: tracing that cannot start is a message, not a failure. */
export async function startTracing(env: NodeJS.ProcessEnv, log: (message: string) => void): Promise<Tracing | null> {
  const { kind, problem } = exporterKind(env)
  if (problem !== null) log(`no traces are sent: ${problem}`)
  if (kind === null) return null
  try {
    const { openTelemetry } = await import('./open-telemetry.ts')
    return await openTelemetry(kind, env, log)
  } catch (error) {
    log(`no traces are sent: ${(error as Error).message}`)
    return null
  }
}
