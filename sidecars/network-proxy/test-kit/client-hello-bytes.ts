/** TLS ClientHellos as bytes, with or without a server name. */

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const withLength = (bytes: Buffer): Buffer => Buffer.concat([uint16(bytes.length), bytes])

function serverNameExtension(name: string): Buffer {
  const entry = Buffer.concat([Buffer.from([0]), withLength(Buffer.from(name, 'latin1'))])
  return Buffer.concat([uint16(0), withLength(withLength(entry))])
}

export interface HelloOptions {
  /** Cut the handshake into TLS records of this size. */
  recordBytes?: number
  /** More server_name extensions after the first. */
  moreNames?: string[]
}

export function clientHello(
  serverName: string | undefined,
  { recordBytes = 16_384, moreNames = [] }: HelloOptions = {},
): Buffer {
  const names = [...(serverName === undefined ? [] : [serverName]), ...moreNames]
  const extensions = Buffer.concat([
    Buffer.concat([uint16(0x000a), withLength(Buffer.from([0, 2, 0, 29]))]),
    ...names.map(serverNameExtension),
    Buffer.concat([uint16(0x0015), withLength(Buffer.alloc(200))]),
  ])
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    Buffer.from([0]),
    withLength(Buffer.from([0x13, 0x01])),
    Buffer.from([1, 0]),
    withLength(extensions),
  ])
  const handshake = Buffer.concat([Buffer.from([1, 0]), uint16(body.length), body])
  const records: Buffer[] = []
  for (let at = 0; at < handshake.length; at += recordBytes)
    records.push(Buffer.concat([Buffer.from([22, 3, 1]), withLength(handshake.subarray(at, at + recordBytes))]))
  return Buffer.concat(records)
}
