/**
 * The trust bundle as Java reads it: a key store of type JKS with certificates only (the format of
 * `sun.security.provider.JavaKeyStore`; Java has no reader for PEM).
 */
import { createHash } from 'node:crypto'

const MAGIC = 0xfeedfeed
const VERSION = 2
const TRUSTED_CERTIFICATE = 2
/** What Java calls the store's password is only good for noticing accidents. */
export const KEYSTORE_PASSWORD = 'changeit'
const SALT = 'Mighty Aphrodite'

/** A key store that trusts exactly these certificates (DER). */
export function javaKeystore(certificates: readonly Buffer[], nowMs: number): Buffer {
  const entries = certificates.map((certificate, at) => entry(`gatehouse-${at}`, certificate, nowMs))
  const body = Buffer.concat([uint32(MAGIC), uint32(VERSION), uint32(certificates.length), ...entries])
  const digest = createHash('sha1').update(utf16(KEYSTORE_PASSWORD)).update(SALT).update(body).digest()
  return Buffer.concat([body, digest])
}

function entry(alias: string, certificate: Buffer, nowMs: number): Buffer {
  const date = Buffer.alloc(8)
  date.writeBigUInt64BE(BigInt(nowMs))
  return Buffer.concat([
    uint32(TRUSTED_CERTIFICATE),
    text(alias),
    date,
    text('X.509'),
    uint32(certificate.length),
    certificate,
  ])
}

function text(ascii: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(ascii.length)
  return Buffer.concat([length, Buffer.from(ascii, 'latin1')])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function utf16(ascii: string): Buffer {
  return Buffer.from(ascii, 'utf16le').swap16()
}
