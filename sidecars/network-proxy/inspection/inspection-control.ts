/** Inspection of one proxy: what is set, the certificates for it, and who reads. One owner of all of it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CERTIFICATES_FOLDER } from '../../protocol/host-channel.ts'
import { TLS_HANDSHAKE_TIMEOUT_MS } from '../admission.ts'
import type { PlatformRoots } from '../certificates/platform-roots.ts'
import type { BundleFiles } from '../certificates/trust-bundle.ts'
import { TlsSessions, type TlsDialOptions } from '../dial/tls-handshake.ts'
import type { HttpServing } from '../http/client-session.ts'
import type { ProxySettings } from '../settings.ts'
import { HookRunner } from './hook-runner.ts'
import { mayInspect, NO_INSPECTION, type InspectionSettings } from './inspection-settings.ts'
import { Inspector } from './inspector.ts'
import { Trust, type InspectionTrust } from './trust.ts'

export interface InspectionSurroundings {
  nowMs: () => number
  environment: () => Readonly<Record<string, string | undefined>>
  /** Private folder of this launch; absent: one below the system's temporary folder, removed at the end. */
  runDir: string | undefined
  platformRoots: PlatformRoots | undefined
}

export class InspectionControl {
  readonly hooks = new HookRunner(() => this.settings.hooks)
  /** For every TLS connection to an origin, inspected or not. */
  readonly tls: TlsDialOptions
  private settings: InspectionSettings = NO_INSPECTION
  private current: InspectionTrust | undefined
  private readonly trust: Trust
  private temporary: Promise<string> | undefined
  private readonly preparing = new Set<Promise<InspectionTrust>>()

  constructor(private readonly surroundings: InspectionSurroundings) {
    const { nowMs, environment, platformRoots } = surroundings
    this.trust = new Trust({
      directory: () => this.directory(),
      environment,
      nowMs,
      ...(platformRoots ? { platformRoots } : {}),
    })
    this.tls = {
      handshakeTimeoutMs: TLS_HANDSHAKE_TIMEOUT_MS,
      sessions: new TlsSessions(),
      secureContext: () => this.trust.originContext(),
    }
  }

  inspector(serving: HttpServing): Inspector {
    return new Inspector({ serving, settings: () => this.settings, trust: () => this.current })
  }

  /**
   * Takes settings over at once; resolves when certificates are there. Until then, and when that fails,
   * what has to be inspected is refused. Rejects with UnusableAuthority or an error of the operating system.
   */
  async apply({ enabled, inspection = NO_INSPECTION, mode }: ProxySettings): Promise<void> {
    this.settings = inspection
    this.trust.noteEnvironment()
    if (!enabled || !mayInspect(inspection, mode)) {
      this.current = undefined
      return
    }
    const preparing = this.trust.prepare(inspection.ownAuthority)
    this.preparing.add(preparing)
    try {
      const trust = await preparing
      if (this.settings === inspection) this.current = trust
    } finally {
      this.preparing.delete(preparing)
    }
  }

  /** What children have to know; undefined while nothing is inspected. */
  get bundle(): BundleFiles | undefined {
    return this.current?.bundle
  }

  /** What children get in place of variables whose values hooks put into requests. */
  get childVariables(): ReadonlyMap<string, string> {
    return this.settings.hooks.childVariables
  }

  get warnings(): readonly string[] {
    return this.trust.warnings
  }

  private directory(): Promise<string> {
    const { runDir } = this.surroundings
    if (runDir !== undefined) return Promise.resolve(join(runDir, CERTIFICATES_FOLDER))
    this.temporary ??= mkdtemp(join(tmpdir(), 'gatehouse-proxy-'))
    return this.temporary
  }

  async close(): Promise<void> {
    // Files must not appear after they were cleared away.
    await Promise.allSettled(this.preparing)
    await this.trust.close()
    if (this.temporary) await rm(await this.temporary, { recursive: true, force: true })
  }
}
