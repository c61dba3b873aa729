/**
 * The authority that vouches for inspected hosts. Its key exists in this process only, unless the owner
 * brings an authority; leaves are made on demand and kept ready to use.
 */
import { createPublicKey, generateKeyPairSync, randomBytes, X509Certificate, type KeyObject } from 'node:crypto'
import { createSecureContext, DEFAULT_CIPHERS, type SecureContext } from 'node:tls'
import { toPem } from './pem.ts'
import {
  authorityCertificate,
  commonName,
  emptyRevocationList,
  keyIdentifier,
  leafCertificate,
  type Issuer,
} from './x509.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** Clocks of virtual machines and containers run behind. */
const CLOCK_SLACK_MS = DAY_MS
const AUTHORITY_LIFE_MS = 365 * DAY_MS
/** Apple platforms refuse more than 825 days, browsers more than 398. */
const LEAF_LIFE_MS = 90 * DAY_MS
/** A leaf is made anew this long before it ends. */
const LEAF_RENEWAL_MS = DAY_MS
const MAX_LEAVES = 256
/** Preferred: every TLS 1.3 client speaks it, and its handshake costs a twentieth less than with SHA-384. */
const CIPHERS = `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`
const REVOCATION_LIST_LIFE_MS = 7 * DAY_MS

/** An authority ready to sign. */
export interface AuthorityIdentity {
  issuer: Issuer
  /** DER. */
  certificate: Buffer
  notAfterMs: number
}

interface Leaf {
  context: SecureContext
  notAfterMs: number
}

/** A new authority for this launch: EC P-256, named so that two launches never look alike. */
export function newAuthority(nowMs: number): AuthorityIdentity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = commonName(`Gatehouse inspection ${randomBytes(4).toString('hex')}`)
  const issuer: Issuer = { key: privateKey, name, keyId: keyIdentifier(publicKey) }
  const notAfterMs = nowMs + AUTHORITY_LIFE_MS
  const certificate = authorityCertificate(issuer, publicKey, {
    notBefore: new Date(nowMs - CLOCK_SLACK_MS),
    notAfter: new Date(notAfterMs),
  })
  return { issuer, certificate, notAfterMs }
}

export class CertificateAuthority {
  /** PEM, for trust stores. */
  readonly certificatePem: string
  /** One key for all leaves of this launch: making keys is most of the price of a leaf. */
  private readonly leafKey: KeyObject
  private readonly leafKeyPem: string | Buffer
  private readonly leafPublicKey: KeyObject
  private readonly leaves = new Map<string, Leaf>()
  /**
   * What is sent after the leaf. A root is in the client's store or it is worth nothing, and reading it again
   * takes a sixth of the handshake; an authority below another one has to be sent.
   */
  private readonly chainPem: string
  private revocationLists = 0

  constructor(
    private readonly identity: AuthorityIdentity,
    private readonly nowMs: () => number,
  ) {
    this.certificatePem = toPem('CERTIFICATE', identity.certificate)
    const certificate = new X509Certificate(identity.certificate)
    this.chainPem = certificate.subject === certificate.issuer ? '' : this.certificatePem
    this.leafKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    this.leafKeyPem = this.leafKey.export({ type: 'pkcs8', format: 'pem' })
    this.leafPublicKey = createPublicKey(this.leafKey)
  }

  /** Where the revocation list is served; leaves made from then on say so. */
  crlUrl: string | undefined

  /** A TLS server context for `host` (canonical). The least recently used of 256 gives way. */
  contextFor(host: string): SecureContext {
    const known = this.leaves.get(host)
    this.leaves.delete(host)
    const leaf = known && known.notAfterMs - LEAF_RENEWAL_MS > this.nowMs() ? known : this.issue(host)
    this.leaves.set(host, leaf)
    for (const oldest of this.leaves.keys()) {
      if (this.leaves.size <= MAX_LEAVES) break
      this.leaves.delete(oldest)
    }
    return leaf.context
  }

  private issue(host: string): Leaf {
    const notAfterMs = Math.min(this.identity.notAfterMs, this.nowMs() + LEAF_LIFE_MS)
    const context = createSecureContext({
      cert: this.leafPem(host, notAfterMs) + this.chainPem,
      key: this.leafKeyPem,
      minVersion: 'TLSv1.2',
      ciphers: CIPHERS,
      honorCipherOrder: true,
    })
    return { context, notAfterMs }
  }

  /** A fresh server certificate for `host` in PEM. */
  leafPem(host: string, notAfterMs = this.nowMs() + LEAF_LIFE_MS): string {
    const leaf = leafCertificate(this.identity.issuer, {
      host,
      publicKey: this.leafPublicKey,
      validity: { notBefore: new Date(this.nowMs() - CLOCK_SLACK_MS), notAfter: new Date(notAfterMs) },
      crlUrl: this.crlUrl,
    })
    return toPem('CERTIFICATE', leaf)
  }

  /** A current revocation list (DER) that revokes nothing: whatever is issued ends with this process. */
  revocationList(): Buffer {
    const nowMs = this.nowMs()
    return emptyRevocationList(
      this.identity.issuer,
      { notBefore: new Date(nowMs - CLOCK_SLACK_MS), notAfter: new Date(nowMs + REVOCATION_LIST_LIFE_MS) },
      ++this.revocationLists,
    )
  }
}
