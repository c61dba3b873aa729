/** Decides which tunnels are read instead of relayed, and takes them over. */
import type { Admission, Attempt } from '../admission.ts'
import type { HttpServing } from '../http/client-session.ts'
import { resetSocket } from '../../tcp/reset-socket.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import type { TunnelInspector } from '../tunnel/tunnel-opener.ts'
import { isExcluded, type InspectionSettings } from './inspection-settings.ts'
import { InspectedTunnel } from './inspected-tunnel.ts'
import type { InspectionTrust } from './trust.ts'

export interface InspectorOptions {
  serving: HttpServing
  /** In force now. */
  settings: () => InspectionSettings
  /** Undefined while inspection is off. */
  trust: () => InspectionTrust | undefined
}

export class Inspector implements TunnelInspector {
  constructor(private readonly options: InspectorOptions) {}

  private get admission(): Admission {
    return this.options.serving.admission
  }

  refuses(attempt: Attempt): boolean {
    const { host, port, protocol } = attempt.destination
    const { hooks } = this.options.settings()
    if (!hooks.isHooked(host)) return false
    if (!this.options.trust()) return true
    // SOCKS carries anything; only where TLS is usual, or a hook says so, can a hook be honoured.
    return protocol === 'socks5Tcp' && port !== 443 && !hooks.namesPort(host, port)
  }

  wants(attempt: Attempt): boolean {
    const settings = this.options.settings()
    if (!this.options.trust()) return false
    if (this.demands(attempt)) return true
    const { host, port } = attempt.destination
    return settings.everything && !isExcluded(settings, host, port)
  }

  /** What cannot be read may not pass. */
  private demands(attempt: Attempt): boolean {
    return this.admission.needsInspection(attempt) || this.options.settings().hooks.isHooked(attempt.destination.host)
  }

  handleTunnel(socket: ByteSocket, attempt: Attempt, options: { exempt: boolean; early: Buffer | undefined }): void {
    const trust = this.options.trust()
    if (!trust) {
      attempt.record.blocked({ reason: 'mitm_required', source: 'mode_guard' }, this.options.serving.log.nowMs())
      return resetSocket(socket)
    }
    new InspectedTunnel({
      socket,
      attempt,
      exempt: options.exempt,
      serving: this.options.serving,
      authority: trust.authority,
      mayRelay: !this.demands(attempt),
    }).start(options.early)
  }
}
