/** Certificates in text form. */
import { readElement } from './der.ts'

const SEQUENCE_TAG = 0x30
const BLOCK = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----([A-Za-z0-9+/=\s]+?)-----END \1?CERTIFICATE-----/g

export function toPem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/**
 * The certificates in a PEM text and nothing else: private keys, comments and broken blocks stay behind.
 * OpenSSL's trusted certificates lose the trust settings that follow the certificate.
 */
export function certificatesIn(text: string): Buffer[] {
  const found: Buffer[] = []
  for (const [, , base64] of text.matchAll(BLOCK)) {
    const certificate = firstElement(Buffer.from(base64!, 'base64'))
    if (certificate) found.push(certificate)
  }
  return found
}

function firstElement(bytes: Buffer): Buffer | undefined {
  try {
    const { tag, whole } = readElement(bytes)
    return tag === SEQUENCE_TAG ? whole : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
