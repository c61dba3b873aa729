/**
 * Spans as an OTLP ExportTraceServiceRequest (opentelemetry-proto 1.x). One description serves both
 * encodings: members carry the names of the JSON form and the field numbers of the protobuf form.
 */
import type { Attributes, AttributeValue, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'

/** A value with its wire type; lists repeat the field. */
export type OtlpValue =
  | { string: string }
  | { hex: string }
  | { fixed64: bigint }
  | { int: number }
  | { double: number }
  | { bool: boolean }
  | { message: OtlpField[] }
  | { list: OtlpValue[] }
export interface OtlpField {
  number: number
  name: string
  value: OtlpValue
}

const NANOSECONDS = 1_000_000_000n

export function traceRequest(spans: readonly ReadableSpan[]): OtlpField[] {
  const scopes = new Map<string, ReadableSpan[]>()
  for (const span of spans) {
    const key = `${span.instrumentationLibrary.name} ${span.instrumentationLibrary.version ?? ''}`
    scopes.set(key, [...(scopes.get(key) ?? []), span])
  }
  const scopeSpans = [...scopes.values()].map((members) => ({
    message: [
      field(1, 'scope', { message: scopeOf(members[0]!) }),
      field(2, 'spans', { list: members.map((span) => ({ message: spanFields(span) })) }),
    ],
  }))
  const resource = { message: [field(1, 'attributes', keyValues(spans[0]?.resource.attributes ?? {}))] }
  const resourceSpans = { message: [field(1, 'resource', resource), field(2, 'scopeSpans', { list: scopeSpans })] }
  return [field(1, 'resourceSpans', { list: [resourceSpans] })]
}

const field = (number: number, name: string, value: OtlpValue): OtlpField => ({ number, name, value })

function scopeOf({ instrumentationLibrary: { name, version } }: ReadableSpan): OtlpField[] {
  return [field(1, 'name', { string: name }), field(2, 'version', { string: version ?? '' })]
}

function spanFields(span: ReadableSpan): OtlpField[] {
  const { traceId, spanId, traceState } = span.spanContext()
  return [
    field(1, 'traceId', { hex: traceId }),
    field(2, 'spanId', { hex: spanId }),
    ...(traceState ? [field(3, 'traceState', { string: traceState.serialize() })] : []),
    ...(span.parentSpanId ? [field(4, 'parentSpanId', { hex: span.parentSpanId })] : []),
    field(5, 'name', { string: span.name }),
    // The API counts kinds from 0, the wire keeps 0 for "unspecified".
    field(6, 'kind', { int: span.kind + 1 }),
    field(7, 'startTimeUnixNano', { fixed64: nanoseconds(span.startTime) }),
    field(8, 'endTimeUnixNano', { fixed64: nanoseconds(span.endTime) }),
    field(9, 'attributes', keyValues(span.attributes)),
    field(15, 'status', {
      message: [
        ...(span.status.message ? [field(2, 'message', { string: span.status.message })] : []),
        field(3, 'code', { int: span.status.code }),
      ],
    }),
  ]
}

const nanoseconds = ([seconds, rest]: HrTime): bigint => BigInt(seconds) * NANOSECONDS + BigInt(Math.round(rest))

function keyValues(attributes: Attributes): OtlpValue {
  return {
    list: Object.entries(attributes).flatMap(([key, value]) =>
      value === undefined ? [] : [{ message: [field(1, 'key', { string: key }), field(2, 'value', anyValue(value))] }],
    ),
  }
}

function anyValue(value: AttributeValue): OtlpValue {
  if (Array.isArray(value)) {
    const values = (value as (string | number | boolean)[]).map((member) => anyValue(member ?? ''))
    return { message: [field(5, 'arrayValue', { message: [field(1, 'values', { list: values })] })] }
  }
  if (typeof value === 'boolean') return { message: [field(2, 'boolValue', { bool: value })] }
  if (typeof value === 'number')
    return Number.isSafeInteger(value)
      ? { message: [field(3, 'intValue', { int: value })] }
      : { message: [field(4, 'doubleValue', { double: value })] }
  return { message: [field(1, 'stringValue', { string: String(value) })] }
}
