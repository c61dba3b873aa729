/**
 * What a trusted bridge (the one into a network namespace) puts before a client's bytes: a magic, a
 * 16-bit length, and the lease of the client. No HTTP request and no SOCKS greeting starts with a zero
 * byte, so it cannot be mistaken for one.
 */
const MAGIC = Buffer.from('\0GHPXY1\0', 'latin1')
const MAX_LEASE_BYTES = 128

export const PREFACE_BYTE = 0x00

/** The preface for a connection of `lease`. */
export function writePreface(lease: string): Buffer {
  const name = Buffer.from(lease)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(name.length)
  return Buffer.concat([MAGIC, length, name])
}

/** The lease, and how many bytes of `bytes` the preface takes. */
export function parsePreface(bytes: Buffer): { lease: string; length: number } | 'incomplete' | 'malformed' {
  const seen = Math.min(bytes.length, MAGIC.length)
  if (!bytes.subarray(0, seen).equals(MAGIC.subarray(0, seen))) return 'malformed'
  if (bytes.length < MAGIC.length + 2) return 'incomplete'
  const length = bytes.readUInt16BE(MAGIC.length)
  if (length === 0 || length > MAX_LEASE_BYTES) return 'malformed'
  const start = MAGIC.length + 2
  if (bytes.length < start + length) return 'incomplete'
  return { lease: bytes.toString('utf8', start, start + length), length: start + length }
}
