/** The two encodings of OTLP over HTTP. */
import type { OtlpField, OtlpValue } from './otlp-message.ts'

/** JSON as OTLP has it: ids in hex, 64-bit numbers as text, enums as numbers. */
export function otlpJson(fields: readonly OtlpField[]): string {
  return JSON.stringify(jsonObject(fields))
}

function jsonObject(fields: readonly OtlpField[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(({ name, value }) => [name, jsonValue(name, value)]))
}

function jsonValue(name: string, value: OtlpValue): unknown {
  if ('message' in value) return jsonObject(value.message)
  if ('list' in value) return value.list.map((member) => jsonValue(name, member))
  if ('fixed64' in value) return value.fixed64.toString()
  if ('int' in value) return name === 'intValue' ? String(value.int) : value.int
  return Object.values(value)[0]
}

const VARINT = 0
const FIXED64 = 1
const LENGTH = 2

/** Protocol buffers. */
export function otlpProtobuf(fields: readonly OtlpField[]): Buffer {
  return Buffer.concat(fields.flatMap(({ number, value }) => encode(number, value)))
}

function encode(number: number, value: OtlpValue): Buffer[] {
  if ('list' in value) return value.list.flatMap((member) => encode(number, member))
  if ('message' in value) return bytes(number, otlpProtobuf(value.message))
  if ('string' in value) return bytes(number, Buffer.from(value.string, 'utf8'))
  if ('hex' in value) return bytes(number, Buffer.from(value.hex, 'hex'))
  if ('bool' in value) return [tag(number, VARINT), varint(value.bool ? 1n : 0n)]
  if ('int' in value) return [tag(number, VARINT), varint(BigInt.asUintN(64, BigInt(value.int)))]
  const eight = Buffer.alloc(8)
  if ('fixed64' in value) eight.writeBigUInt64LE(value.fixed64)
  else eight.writeDoubleLE(value.double)
  return [tag(number, FIXED64), eight]
}

const bytes = (number: number, content: Buffer): Buffer[] => [
  tag(number, LENGTH),
  varint(BigInt(content.length)),
  content,
]
const tag = (number: number, wireType: number): Buffer => varint(BigInt((number << 3) | wireType))

function varint(value: bigint): Buffer {
  const out: number[] = []
  let rest = value
  for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80)
  out.push(Number(rest))
  return Buffer.from(out)
}
