/** Certificates of one launch: the authority for clients, the bundle that children trust, the roots for origins. */
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { CertificateAuthority, newAuthority, type AuthorityIdentity } from '../certificates/certificate-authority.ts'
import { CrlServer } from '../certificates/crl-server.ts'
import { customRoots, type CustomRoots } from '../certificates/custom-roots.ts'
import { readOwnAuthority, type OwnAuthorityFiles } from '../certificates/own-authority.ts'
import { CA_DIRECTORY_VARIABLE, CA_FILE_VARIABLES } from '../../protocol/network-variables.ts'
import { certificatesIn, toPem } from '../certificates/pem.ts'
import { platformRoots, type PlatformRoots } from '../certificates/platform-roots.ts'
import { removeBundle, uniqueCertificates, writeBundle, type BundleFiles } from '../certificates/trust-bundle.ts'

export interface TrustOptions {
  /** Where the bundle is written; made when it is not there. */
  directory: () => Promise<string>
  /** Where variables such as SSL_CERT_FILE are read. */
  environment: () => Readonly<Record<string, string | undefined>>
  nowMs: () => number
  platformRoots?: PlatformRoots
}

/** What inspection needs once it is on. */
export interface InspectionTrust {
  authority: CertificateAuthority
  bundle: BundleFiles
}

/** The files that children need cannot be written, so nothing that has to be inspected may pass. */
export class UnwritableBundle extends Error {
  constructor(directory: string, { code, message }: NodeJS.ErrnoException) {
    super(
      `the trust bundle cannot be written to ${directory} (${code ?? message}); what has to be inspected is refused until it can`,
    )
    this.name = 'UnwritableBundle'
  }
}

export class Trust {
  private roots: Promise<Buffer[]> | undefined
  private context: Promise<SecureContext> | undefined
  private prepared: { key: string; authority: CertificateAuthority; identity: AuthorityIdentity } | undefined
  private crl: CrlServer | undefined
  private written: BundleFiles | undefined
  /** What the environment named when the roots were read. */
  private named: string | undefined
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
   * @throws UnusableAuthority, UnwritableBundle
   */
  async prepare(own: OwnAuthorityFiles | undefined): Promise<InspectionTrust> {
    const key = own ? `${own.certificateFile}\n${own.privateKeyFile}` : ''
    if (this.prepared?.key === key && this.written) return { authority: this.prepared.authority, bundle: this.written }
    if (this.prepared?.key !== key) this.prepared = { key, ...(await this.open(own)) }
    const { authority, identity } = this.prepared
    return { authority, bundle: await this.write(identity) }
  }

  private async open(
    own: OwnAuthorityFiles | undefined,
  ): Promise<{ authority: CertificateAuthority; identity: AuthorityIdentity }> {
    const { nowMs } = this.options
    const identity = own ? readOwnAuthority(own, nowMs()) : newAuthority(nowMs())
    const authority = new CertificateAuthority(identity, nowMs)
    this.written = undefined
    this.crl?.close()
    this.crl = await CrlServer.open(() => authority.revocationList())
    authority.crlUrl = this.crl.url
    return { authority, identity }
  }

  private async write({ certificate }: AuthorityIdentity): Promise<BundleFiles> {
    const roots = await this.readRoots()
    const directory = await this.options.directory()
    try {
      this.written = await writeBundle(directory, [...roots, certificate])
      return this.written
    } catch (error) {
      throw new UnwritableBundle(directory, error as NodeJS.ErrnoException)
    }
  }

  /** The environment may name other authorities than before: they are read again, and the bundle is written again. */
  noteEnvironment(): void {
    const environment = this.options.environment()
    const named = JSON.stringify([...CA_FILE_VARIABLES, CA_DIRECTORY_VARIABLE].map((name) => environment[name] ?? ''))
    if (this.named !== undefined && this.named !== named) {
      this.roots = undefined
      this.context = undefined
      this.written = undefined
    }
    this.named = named
  }

  private readRoots(): Promise<Buffer[]> {
    this.roots ??= this.gatherRoots()
    return this.roots
  }

  private async gatherRoots(): Promise<Buffer[]> {
    const [platform, custom] = await Promise.all([
      (this.options.platformRoots ?? platformRoots)(),
      customRoots(this.options.environment()),
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
