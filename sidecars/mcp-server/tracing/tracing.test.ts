/* oxlint-disable typescript/no-explicit-any -- what arrives is what is under test */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Submissions } from '../engine/submissions.ts'
import { withTrace } from '../engine/trace-context.ts'
import { exporterKind, startTracing, type Tracing } from './start-tracing.ts'

const PARENT = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
let collector: Server
let received: { path: string; headers: IncomingHttpHeaders; body: Buffer }[]
let statuses: number[]
let logged: string[]
let tracing: Tracing | null

beforeEach(async () => {
  received = []
  statuses = []
  logged = []
  collector = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      received.push({ path: request.url!, headers: request.headers, body: Buffer.concat(parts) })
      response.writeHead(statuses.shift() ?? 200, { 'retry-after': '0' }).end()
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await tracing?.shutdown()
  collector.close()
})
const endpoint = () => `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
const start = async (env: NodeJS.ProcessEnv) => (tracing = await startTracing(env, (m) => logged.push(m)))

/** Field numbers and contents of a protobuf message. */
function fieldsOf(bytes: Buffer): [number, Buffer | bigint][] {
  const fields: [number, Buffer | bigint][] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const key = Number(varint())
    const number = key >> 3
    if ((key & 7) === 0) fields.push([number, varint()])
    else if ((key & 7) === 1) {
      fields.push([number, bytes.readBigUInt64LE(at)])
      at += 8
    } else {
      const length = Number(varint())
      fields.push([number, bytes.subarray(at, at + length)])
      at += length
    }
  }
  return fields
}
const child = (bytes: Buffer, ...path: number[]): Buffer =>
  path.reduce((inner, number) => fieldsOf(inner).find(([n]) => n === number)![1] as Buffer, bytes)

it('is off, with nothing to do, unless a variable asks for it', async () => {
  expect(await start({})).toBeNull()
  expect(await start({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint() })).toBeNull()
  expect(await start({ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint() })).toBeNull()
  expect(logged).toEqual([])
})

it.each([
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /OTEL_TRACES_EXPORTER: "zipkin"/],
  [{ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL: "grpc"/],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /OTEL_EXPORTER_OTLP_ENDPOINT: expected an http/],
])('says what is wrong with %j and stays off', async (env, words) => {
  expect(await start(env)).toBeNull()
  expect(logged.join()).toMatch(words)
})

it('sends a span for each submission, with the request as its parent, as JSON', async () => {
  await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint()}/`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  })
  const submissions = new Submissions('thread-1', tracing!.trace)
  await withTrace({ traceparent: `00-${PARENT}-${SPAN}-01` }, () => submissions.submit('user_input', () => 1))
  await submissions.submit('interrupt', () => Promise.reject(new Error('no turn'))).catch(() => undefined)
  await withTrace({ traceparent: 'nonsense' }, () => submissions.submit('compact', () => 1))
  await tracing!.shutdown()
  expect(received.map(({ path, headers }) => [path, headers['x-key'], headers['content-type']])).toEqual([
    ['/v1/traces', 'a b', 'application/json'],
  ])
  const body = JSON.parse(gunzipSync(received[0]!.body).toString()) as any
  const [{ resource, scopeSpans }] = body.resourceSpans
  expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'gatehouse-app-server' } })
  const spans = scopeSpans[0].spans as any[]
  expect(spans.map((s) => [s.name, s.status.code])).toEqual([
    ['op.dispatch.user_input', 0],
    ['op.dispatch.interrupt', 2],
    ['op.dispatch.compact', 0],
  ])
  expect(spans[0]).toMatchObject({ traceId: PARENT, parentSpanId: SPAN, kind: 1 })
  expect(spans[0].attributes).toContainEqual({ key: 'thread.id', value: { stringValue: 'thread-1' } })
  expect(BigInt(spans[0].endTimeUnixNano) >= BigInt(spans[0].startTimeUnixNano)).toBe(true)
  expect([spans[1].status.message, spans[1].parentSpanId, spans[2].parentSpanId]).toEqual([
    'no turn',
    undefined,
    undefined,
  ])
  expect(logged.join()).toMatch(/traceparent "nonsense"/)
})

it('sends protocol buffers by default, again when the collector is busy, and tells once when it is gone', async () => {
  await start({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint()}/own/path` })
  statuses = [503]
  const span = tracing!.trace('user_input', '7', 'thread-1', { traceparent: `00-${PARENT}-${SPAN}-01` })
  span.end()
  await tracing!.shutdown()
  expect(received.map(({ path, headers }) => [path, headers['content-type']])).toEqual([
    ['/own/path', 'application/x-protobuf'],
    ['/own/path', 'application/x-protobuf'],
  ])
  const sent = child(received[1]!.body, 1, 2, 2)
  const fields = new Map(fieldsOf(sent))
  expect((fields.get(1) as Buffer).toString('hex')).toBe(PARENT)
  expect((fields.get(4) as Buffer).toString('hex')).toBe(SPAN)
  expect((fields.get(5) as Buffer).toString()).toBe('op.dispatch.user_input')
  expect((fields.get(8) as bigint) >= (fields.get(7) as bigint)).toBe(true)
  expect(child(received[1]!.body, 1, 1, 1).toString()).toContain('service.name')

  const gone = endpoint()
  await new Promise((resolve) => collector.close(resolve))
  await start({ OTEL_EXPORTER_OTLP_ENDPOINT: gone })
  tracing!.trace('interrupt', '8', 'thread-1', null).end()
  await tracing!.shutdown()
  expect(logged.filter((line) => line.startsWith(`traces cannot be sent to ${gone}/v1/traces`))).toHaveLength(1)
})

it('knows the exporters that the variables can name', () => {
  expect(exporterKind({ OTEL_TRACES_EXPORTER: 'console' }).kind).toBe('console')
  expect(exporterKind({ OTEL_TRACES_EXPORTER: 'otlp' }).kind).toBe('otlp-protobuf')
  expect(exporterKind({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }).kind).toBe('otlp-protobuf')
})
