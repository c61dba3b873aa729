/** Certificates of one launch: the authority for clients, the bundle that children trust, the roots for origins. */
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { CertificateAuthority, newAuthority, type AuthorityIdentity } from '../certificates/certificate-authority.ts'
import { CrlServer } from '../certificates/crl-server.ts'
import { customRoots, type CustomRoots } from '../certificates/custom-roots.ts'
import { readOwnAuthority, type OwnAuthorityFiles } from '../certificates/own-authority.ts'
import { certificatesIn, toPem } from '../certificates/pem.ts'
import { platformRoots, type PlatformRoots } from '../certificates/platform-roots.ts'
import { removeBundle, uniqueCertificates, writeBundle, type BundleFiles } from '../certificates/trust-bundle.ts'

export interface TrustOptions {
  /** Where the bundle is written; made when it is not there. */
  directory: () => Promise<string>
  /** Where variables such as SSL_CERT_FILE are read. */
  environment: Record<string, string | undefined>
  nowMs: () => number
  platformRoots?: PlatformRoots
}

/** What inspection needs once it is on. */
export interface InspectionTrust {
  authority: CertificateAuthority
  bundle: BundleFiles
}

export class Trust {
  private roots: Promise<Buffer[]> | undefined
  private context: Promise<SecureContext> | undefined
  private prepared: { key: string; trust: InspectionTrust } | undefined
  private crl: CrlServer | undefined
  private written: BundleFiles | undefined
  /** Files of authorities that could not be used, one sentence each. */
  readonly warnings: string[] = []

  constructor(private readonly options: TrustOptions) {}

  /** The context with which origins are verified: platform, built-in and the owner's own authorities. */
  originContext(): Promise<SecureContext> {
    this.context ??= this.readRoots().then((roots) =>
      createSecureContext({ ca: roots.map((der) => toPem('CERTIFICATE', der)) }),
    )
    return this.context
  }

  /**
   * An authority and a bundle that contains it, made once for each choice of authority.
   * @throws UnusableAuthority; rejects with an error of the operating system when the bundle cannot be written
   */
  async prepare(own: OwnAuthorityFiles | undefined): Promise<InspectionTrust> {
    const key = own ? `${own.certificateFile}\n${own.privateKeyFile}` : ''
    if (this.prepared?.key === key) return this.prepared.trust
    const { nowMs } = this.options
    const identity = own ? readOwnAuthority(own, nowMs()) : newAuthority(nowMs())
    const authority = new CertificateAuthority(identity, nowMs)
    const trust = { authority, bundle: await this.write(identity) }
    this.crl?.close()
    this.crl = await CrlServer.open(() => authority.revocationList())
    authority.crlUrl = this.crl.url
    this.prepared = { key, trust }
    return trust
  }

  private async write({ certificate }: AuthorityIdentity): Promise<BundleFiles> {
    const roots = await this.readRoots()
    this.written = await writeBundle(await this.options.directory(), [...roots, certificate])
    return this.written
  }

  private readRoots(): Promise<Buffer[]> {
    this.roots ??= this.gatherRoots()
    return this.roots
  }

  private async gatherRoots(): Promise<Buffer[]> {
    const [platform, custom] = await Promise.all([
      (this.options.platformRoots ?? platformRoots)(),
      customRoots(this.options.environment),
    ])
    this.note(custom)
    return uniqueCertificates([...platform, ...certificatesIn(rootCertificates.join('\n')), ...custom.certificates])
  }

  private note({ warnings }: CustomRoots): void {
    this.warnings.push(...warnings)
  }

  /** Removes what was written and stops serving. */
  async close(): Promise<void> {
    this.crl?.close()
    if (this.written) await removeBundle(this.written)
  }
}
