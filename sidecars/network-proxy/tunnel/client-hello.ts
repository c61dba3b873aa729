/** Reading the server name out of the first bytes of a TLS connection, without touching them. */

export type ClientHello =
  /** More bytes are needed. */
  | { kind: 'incomplete' }
  /** Not TLS, so there is no name to read. */
  | { kind: 'not-tls' }
  /** TLS that cannot be read: it has to be treated as hiding something. */
  | { kind: 'malformed' }
  | { kind: 'hello'; serverName: string | undefined }

/** A ClientHello with post-quantum key shares is about 2 KiB; nothing legitimate comes near this. */
export const MAX_CLIENT_HELLO_BYTES = 16 * 1024

/** The first byte of a client that speaks TLS. */
export const TLS_HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const HOST_NAME = 0

/** `bytes` from the very start of the stream; it may span several TLS records. */
export function readClientHello(bytes: Buffer): ClientHello {
  if (bytes.length === 0) return { kind: 'incomplete' }
  if (bytes[0] !== TLS_HANDSHAKE || (bytes.length > 1 && bytes[1] !== 3)) return { kind: 'not-tls' }
  const handshake = joinRecords(bytes)
  if (handshake === undefined) return { kind: 'malformed' }
  if (handshake.length < 4) return tooLong(bytes)
  if (handshake[0] !== CLIENT_HELLO) return { kind: 'malformed' }
  const end = 4 + handshake.readUIntBE(1, 3)
  if (end > MAX_CLIENT_HELLO_BYTES) return { kind: 'malformed' }
  if (handshake.length < end) return tooLong(bytes)
  try {
    return { kind: 'hello', serverName: serverName(new Cursor(handshake, 4, end)) }
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'malformed' }
    throw error
  }
}

function tooLong(bytes: Buffer): ClientHello {
  return { kind: bytes.length > MAX_CLIENT_HELLO_BYTES ? 'malformed' : 'incomplete' }
}

/** The handshake bytes of the records so far; undefined when another record type comes first. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; at + 5 <= bytes.length;) {
    if (bytes[at] !== TLS_HANDSHAKE || bytes[at + 1] !== 3) return parts.length > 0 ? join(parts) : undefined
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0) return undefined
    parts.push(bytes.subarray(at + 5, Math.min(bytes.length, at + 5 + length)))
    at += 5 + length
  }
  return join(parts)
}

const join = (parts: Buffer[]): Buffer => (parts.length === 1 ? parts[0]! : Buffer.concat(parts))

function serverName(hello: Cursor): string | undefined {
  hello.skip(2 + 32)
  hello.skip(hello.uint8())
  hello.skip(hello.uint16())
  hello.skip(hello.uint8())
  if (hello.atEnd) return undefined
  const extensions = hello.take(hello.uint16())
  let name: string | undefined
  while (!extensions.atEnd) {
    const type = extensions.uint16()
    const length = extensions.uint16()
    if (type !== SERVER_NAME) {
      extensions.skip(length)
      continue
    }
    const body = extensions.take(length)
    // Two name extensions are forbidden, and a server may read the other one.
    if (name !== undefined) throw new RangeError('server_name twice')
    const list = body.take(body.uint16())
    while (!list.atEnd) {
      const kind = list.uint8()
      const text = list.take(list.uint16()).text()
      if (kind !== HOST_NAME || name !== undefined) throw new RangeError('unusual server_name list')
      name = text
    }
  }
  return name
}

/** Reads a part of `bytes` forward and throws RangeError past its end. */
class Cursor {
  constructor(
    private readonly bytes: Buffer,
    private at: number,
    private readonly end: number,
  ) {}
  get atEnd(): boolean {
    return this.at >= this.end
  }
  uint8(): number {
    const { at } = this
    this.skip(1)
    return this.bytes[at]!
  }
  uint16(): number {
    const { at } = this
    this.skip(2)
    return (this.bytes[at]! << 8) | this.bytes[at + 1]!
  }
  skip(count: number): void {
    if (this.at + count > this.end) throw new RangeError('past the end')
    this.at += count
  }
  take(count: number): Cursor {
    const from = this.at
    this.skip(count)
    return new Cursor(this.bytes, from, this.at)
  }
  text(): string {
    return this.bytes.toString('latin1', this.at, this.end)
  }
}
