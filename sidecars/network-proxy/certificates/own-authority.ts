/** An authority that the owner brings (`mitm_ca`), for machines that already trust one. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { AuthorityIdentity } from './certificate-authority.ts'
import { certificatesIn } from './pem.ts'
import { issuerFacts, keyIdentifier } from './x509.ts'

export interface OwnAuthorityFiles {
  certificateFile: string
  privateKeyFile: string
}

/** An authority that cannot be used: `field` is the key of the file in question. */
export class UnusableAuthority extends Error {
  constructor(
    readonly field: 'certificate_file' | 'private_key_file',
    problem: string,
  ) {
    super(`mitm_ca.${field}: ${problem}`)
    this.name = 'UnusableAuthority'
  }
}

/** Reads certificate and key. @throws UnusableAuthority */
export function readOwnAuthority(files: OwnAuthorityFiles, nowMs: number): AuthorityIdentity {
  const [der] = certificatesIn(readText('certificate_file', files.certificateFile))
  if (!der) throw new UnusableAuthority('certificate_file', 'holds no certificate; expected PEM')
  const certificate = new X509Certificate(der)
  if (!certificate.ca)
    throw new UnusableAuthority('certificate_file', 'is not a certificate authority (basicConstraints CA:TRUE)')
  const notAfterMs = Date.parse(certificate.validTo)
  if (!(notAfterMs > nowMs)) throw new UnusableAuthority('certificate_file', `expired on ${certificate.validTo}`)
  const key = readKey(files.privateKeyFile)
  if (!certificate.checkPrivateKey(key))
    throw new UnusableAuthority('private_key_file', 'is not the key of the certificate')
  const { name, keyId } = issuerFacts(der)
  return { issuer: { key, name, keyId: keyId ?? keyIdentifier(certificate.publicKey) }, certificate: der, notAfterMs }
}

function readKey(path: string): KeyObject {
  const stats = inspectFile('private_key_file', path)
  if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0)
    throw new UnusableAuthority('private_key_file', `others can read ${path}; run chmod 600 on it`)
  let key: KeyObject
  try {
    key = createPrivateKey(readFileSync(path))
  } catch {
    throw new UnusableAuthority('private_key_file', 'holds no private key that can be read; expected unencrypted PEM')
  }
  if (key.asymmetricKeyType !== 'ec' && key.asymmetricKeyType !== 'rsa')
    throw new UnusableAuthority('private_key_file', `is an ${key.asymmetricKeyType} key; expected EC or RSA`)
  return key
}

function readText(field: UnusableAuthority['field'], path: string): string {
  inspectFile(field, path)
  return readFileSync(path, 'utf8')
}

/** A link could be turned to another file after it was checked. */
function inspectFile(field: UnusableAuthority['field'], path: string): { mode: number } {
  if (!isAbsolute(path)) throw new UnusableAuthority(field, 'expected an absolute path')
  let stats
  try {
    stats = lstatSync(path)
  } catch (error) {
    throw new UnusableAuthority(field, `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (!stats.isFile()) throw new UnusableAuthority(field, `${path} is not a regular file; links are not followed`)
  return stats
}
