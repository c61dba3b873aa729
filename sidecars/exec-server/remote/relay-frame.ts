/** One message of a rendezvous: a protobuf `RelayMessageFrame`. It is routed by its stream and never looked into. */
export type RelayBody =
  | { kind: 'data'; seq: number; payload: Buffer }
  | { kind: 'resume' }
  | { kind: 'reset'; reason: string }
  | { kind: 'handshake'; payload: Buffer }
  /** Acknowledgements and heartbeats mean nothing. */
  | { kind: 'other' }
export interface RelayFrame {
  streamId: string
  body: RelayBody
}

/** Bytes that are no valid frame. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame'
}

const VERSION = 1
const NOTHING: Buffer = Buffer.alloc(0)
const FIELD = { version: 1, streamId: 2, data: 5, ackFrame: 6, resume: 7, reset: 8, heartbeat: 9, handshake: 10 }
const DATA = { seq: 1, segmentIndex: 2, segmentCount: 3, payload: 4 }
const VARINT = 0
const BYTES = 2

/** Members that are zero or empty are left out, as in every protobuf of the third version. */
export function formatRelayFrame({ streamId, body }: RelayFrame): Buffer {
  return Buffer.concat([
    numberField(FIELD.version, VERSION),
    bytesField(FIELD.streamId, Buffer.from(streamId)),
    bodyField(body),
  ])
}

function bodyField(body: RelayBody): Buffer {
  switch (body.kind) {
    case 'data':
      return bytesField(
        FIELD.data,
        Buffer.concat([
          numberField(DATA.seq, body.seq),
          numberField(DATA.segmentCount, 1),
          bytesField(DATA.payload, body.payload),
        ]),
      )
    case 'resume':
      return bytesField(FIELD.resume, Buffer.alloc(0))
    case 'reset':
      return bytesField(FIELD.reset, bytesField(1, Buffer.from(body.reason)))
    case 'handshake':
      return bytesField(FIELD.handshake, bytesField(1, body.payload))
    case 'other':
      return bytesField(FIELD.heartbeat, Buffer.alloc(0))
  }
}

/** @throws MalformedFrame */
export function parseRelayFrame(bytes: Buffer): RelayFrame {
  let version = 0
  let streamId = ''
  let body: RelayBody | undefined
  for (const { field, value } of membersOf(bytes))
    if (field === FIELD.version) version = asNumber(value)
    else if (field === FIELD.streamId) streamId = asText(value)
    else body = readBody(field, value) ?? body
  if (version !== VERSION) throw new MalformedFrame(`version ${version} instead of ${VERSION}`)
  if (streamId.trim() === '') throw new MalformedFrame('no stream')
  if (!body) throw new MalformedFrame('no body')
  return { streamId, body }
}

function readBody(field: number, value: number | Buffer): RelayBody | undefined {
  switch (field) {
    case FIELD.data:
      return readData(asBytes(value))
    case FIELD.resume:
      return { kind: 'resume' }
    case FIELD.reset: {
      const reason = asText(onlyMember(asBytes(value)))
      if (reason === '') throw new MalformedFrame('a reset without a reason')
      return { kind: 'reset', reason }
    }
    case FIELD.handshake: {
      const payload = asBytes(onlyMember(asBytes(value)))
      if (payload.length === 0) throw new MalformedFrame('a handshake without a payload')
      return { kind: 'handshake', payload }
    }
    case FIELD.ackFrame:
    case FIELD.heartbeat:
      return { kind: 'other' }
    default:
      return undefined
  }
}

function readData(bytes: Buffer): RelayBody {
  const found = { seq: 0, segmentIndex: 0, segmentCount: 0, payload: NOTHING }
  for (const { field, value } of membersOf(bytes))
    if (field === DATA.seq) found.seq = asNumber(value)
    else if (field === DATA.segmentIndex) found.segmentIndex = asNumber(value)
    else if (field === DATA.segmentCount) found.segmentCount = asNumber(value)
    else if (field === DATA.payload) found.payload = asBytes(value)
  const { seq, segmentIndex, segmentCount, payload } = found
  if (segmentIndex !== 0 || segmentCount !== 1) throw new MalformedFrame('data in segments')
  if (payload.length === 0) throw new MalformedFrame('data without a payload')
  return { kind: 'data', seq, payload }
}

/** The member numbered 1 of a message that has no other; empty when it is not there. */
function onlyMember(bytes: Buffer): number | Buffer {
  for (const { field, value } of membersOf(bytes)) if (field === 1) return value
  return Buffer.alloc(0)
}

function* membersOf(bytes: Buffer): Generator<{ field: number; value: number | Buffer }> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at++]
      if (byte === undefined) throw new MalformedFrame('it ends in the middle of a number')
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new MalformedFrame('a number that never ends')
  }
  const slice = (sizeBytes: number): Buffer => {
    if (sizeBytes > bytes.length - at) throw new MalformedFrame('it ends in the middle of a member')
    at += sizeBytes
    return bytes.subarray(at - sizeBytes, at)
  }
  while (at < bytes.length) {
    const tag = varint()
    const field = Math.floor(tag / 8)
    switch (tag % 8) {
      case VARINT:
        yield { field, value: varint() }
        break
      case 1:
        slice(8)
        break
      case BYTES:
        yield { field, value: slice(varint()) }
        break
      case 5:
        slice(4)
        break
      default:
        throw new MalformedFrame(`a member of unknown kind ${tag % 8}`)
    }
  }
}

const MAX_U32 = 0xffff_ffff

function asNumber(value: number | Buffer): number {
  if (typeof value !== 'number' || value > MAX_U32) throw new MalformedFrame('a number was expected')
  return value
}
function asBytes(value: number | Buffer): Buffer {
  if (typeof value === 'number') throw new MalformedFrame('bytes were expected')
  return value
}
const utf8 = new TextDecoder('utf-8', { fatal: true })
function asText(value: number | Buffer): string {
  try {
    return utf8.decode(asBytes(value))
  } catch (error) {
    if (error instanceof MalformedFrame) throw error
    throw new MalformedFrame('text that is not UTF-8')
  }
}

function varintBytes(value: number): Buffer {
  const bytes: number[] = []
  for (; value >= 0x80; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80)
  return Buffer.from([...bytes, value])
}
function numberField(field: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.concat([varintBytes(field * 8 + VARINT), varintBytes(value)])
}
/** Written also when empty: a body without members is still a body. */
function bytesField(field: number, value: Buffer): Buffer {
  return Buffer.concat([varintBytes(field * 8 + BYTES), varintBytes(value.length), value])
}
