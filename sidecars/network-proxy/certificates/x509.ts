/** Certificates and revocation lists as RFC 5280 wants them, signed with node:crypto. */
import { createHash, randomBytes, sign, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import {
  bitString,
  boolean,
  explicit,
  implicit,
  nullValue,
  objectIdentifier,
  octetString,
  readElements,
  sequence,
  set,
  smallInteger,
  time,
  unsignedInteger,
  utf8String,
} from './der.ts'
import { addressBytes } from './address-bytes.ts'

const OID = {
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  crlNumber: '2.5.29.20',
  crlDistributionPoints: '2.5.29.31',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
} as const

/** ub-common-name of RFC 5280. */
const MAX_COMMON_NAME = 64
// Bits count from the left: digitalSignature is 0, keyCertSign 5, cRLSign 6.
const DIGITAL_SIGNATURE = bitString(Buffer.from([0x80]), 7)
const CERT_SIGN_AND_CRL_SIGN = bitString(Buffer.from([0x06]), 1)
const SERIAL_BYTES = 16

/** Who signs: a certificate authority as the things it signs refer to it. */
export interface Issuer {
  key: KeyObject
  /** Its subject, encoded. */
  name: Buffer
  keyId: Buffer
}

export interface Validity {
  notBefore: Date
  notAfter: Date
}

/** An encoded name of one common name. */
export function commonName(text: string): Buffer {
  return sequence(set(sequence(objectIdentifier(OID.commonName), utf8String(text))))
}

/** SHA-1 of the key's bits, as RFC 5280 4.2.1.2 proposes; an identifier, no protection. */
export function keyIdentifier(publicKey: KeyObject): Buffer {
  const [info] = readElements(publicKey.export({ type: 'spki', format: 'der' }))
  const bits = readElements(info!.contents)[1]!.contents.subarray(1)
  return createHash('sha1').update(bits).digest()
}

/** A self-signed authority that can sign leaves and revocation lists, but no further authority. */
export function authorityCertificate(issuer: Issuer, publicKey: KeyObject, validity: Validity): Buffer {
  return signCertificate(issuer, issuer.name, publicKey, validity, [
    extension(OID.basicConstraints, true, sequence(boolean(true), smallInteger(0))),
    extension(OID.keyUsage, true, CERT_SIGN_AND_CRL_SIGN),
    extension(OID.subjectKeyIdentifier, false, octetString(issuer.keyId)),
  ])
}

export interface LeafRequest {
  /** A DNS name or an address, canonical. */
  host: string
  publicKey: KeyObject
  validity: Validity
  /** Where clients that insist on it find the revocation list. */
  crlUrl: string | undefined
}

/** A server certificate for one host. */
export function leafCertificate(issuer: Issuer, { host, publicKey, validity, crlUrl }: LeafRequest): Buffer {
  const named = host.length <= MAX_COMMON_NAME
  const extensions = [
    extension(OID.basicConstraints, true, sequence()),
    extension(OID.keyUsage, true, DIGITAL_SIGNATURE),
    extension(OID.extendedKeyUsage, false, sequence(objectIdentifier(OID.serverAuth))),
    extension(OID.subjectKeyIdentifier, false, octetString(keyIdentifier(publicKey))),
    authorityKeyIdentifier(issuer),
    // With an empty subject the alternative name is all there is, and has to be understood.
    extension(OID.subjectAltName, !named, sequence(alternativeName(host))),
  ]
  if (crlUrl !== undefined) extensions.push(distributionPoint(crlUrl))
  return signCertificate(issuer, named ? commonName(host) : sequence(), publicKey, validity, extensions)
}

/** A revocation list that revokes nothing. */
export function emptyRevocationList(issuer: Issuer, { notBefore, notAfter }: Validity, number: number): Buffer {
  const extensions = sequence(
    authorityKeyIdentifier(issuer),
    extension(OID.crlNumber, false, unsignedInteger(integerBytes(number))),
  )
  const list = sequence(
    smallInteger(1),
    signatureAlgorithm(issuer.key),
    issuer.name,
    time(notBefore),
    time(notAfter),
    explicit(0, extensions),
  )
  return signed(issuer.key, list)
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? implicit(2, Buffer.from(host)) : implicit(7, addressBytes(host))
}

function signCertificate(
  issuer: Issuer,
  subject: Buffer,
  publicKey: KeyObject,
  { notBefore, notAfter }: Validity,
  extensions: Buffer[],
): Buffer {
  const serial = randomBytes(SERIAL_BYTES)
  // Positive, and never shorter than it looks.
  serial[0] = (serial[0]! & 0x3f) | 0x40
  const body = sequence(
    explicit(0, smallInteger(2)),
    unsignedInteger(serial),
    signatureAlgorithm(issuer.key),
    issuer.name,
    sequence(time(notBefore), time(notAfter)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions)),
  )
  return signed(issuer.key, body)
}

function signed(key: KeyObject, body: Buffer): Buffer {
  return sequence(body, signatureAlgorithm(key), bitString(sign('sha256', body, key)))
}

function signatureAlgorithm(key: KeyObject): Buffer {
  return key.asymmetricKeyType === 'rsa'
    ? sequence(objectIdentifier(OID.rsaWithSha256), nullValue())
    : sequence(objectIdentifier(OID.ecdsaWithSha256))
}

function extension(oid: string, critical: boolean, value: Buffer): Buffer {
  return sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), octetString(value))
}

function authorityKeyIdentifier({ keyId }: Issuer): Buffer {
  return extension(OID.authorityKeyIdentifier, false, sequence(implicit(0, keyId)))
}

function distributionPoint(url: string): Buffer {
  const fullName = explicit(0, explicit(0, implicit(6, Buffer.from(url))))
  return extension(OID.crlDistributionPoints, false, sequence(sequence(fullName)))
}

function integerBytes(value: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(value, 0, 6)
  return bytes
}

/** What a foreign authority's certificate says about itself. @throws RangeError when it is no certificate */
export function issuerFacts(certificate: Buffer): { name: Buffer; keyId: Buffer | undefined } {
  const body = readElements(readElements(certificate)[0]!.contents)[0]!
  const fields = readElements(body.contents)
  // [0] version, serial, algorithm, issuer, validity, subject, key; the version is absent in version 1.
  const versioned = fields[0]?.tag === 0xa0
  const subject = fields[versioned ? 5 : 4]
  if (subject === undefined) throw new RangeError('a certificate without a subject')
  return { name: subject.whole, keyId: subjectKeyId(fields.at(-1)) }
}

function subjectKeyId(extensions: { tag: number; contents: Buffer } | undefined): Buffer | undefined {
  if (extensions?.tag !== 0xa3) return undefined
  const wanted = objectIdentifier(OID.subjectKeyIdentifier)
  for (const { contents } of readElements(readElements(extensions.contents)[0]!.contents)) {
    const parts = readElements(contents)
    if (parts[0]!.whole.equals(wanted)) return readElements(parts.at(-1)!.contents)[0]!.contents
  }
  return undefined
}
