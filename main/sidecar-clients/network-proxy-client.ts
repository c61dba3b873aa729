import { integer, object, unknown } from '../../sidecars/protocol/decode.ts'
import {
  connectionsChanged,
  leaseGranted,
  type ConnectionFacts,
  type NetworkProxyConfig,
  type NetworkRule,
} from '../../sidecars/protocol/host-channel.ts'
import type { LeaseId, ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import { whenReady, type SidecarLink } from './sidecar-link.ts'

const ANSWER_MS = 5_000
/** A proxy that crashed is back within this, unless it crashes again and again. */
const COMES_BACK_MS = 12_000

export interface LeaseRequest {
  leaseId: LeaseId
  sessionId: SessionId
  processId?: ProcessId
  command: string
  /** What was set or removed for this process: certificates of its own are kept. */
  envChanges?: Record<string, string | null>
  /** Where an earlier life of the proxy served it. */
  port?: number
}

/** The host's side of its channel to the network proxy. */
export class NetworkProxyClient {
  constructor(private readonly link: SidecarLink) {}

  receive(onConnections: (connections: ConnectionFacts[], generation: number) => void): void {
    this.link.onNotification('connections/changed', connectionsChanged, ({ connections }) =>
      onConnections(connections, this.link.generation),
    )
  }

  configure(config: Partial<NetworkProxyConfig>): Promise<unknown> {
    return this.link.request('sidecar/configure', { config }, unknown, { timeoutMs: ANSWER_MS })
  }

  /** Resolves with the revision in force. */
  async setRules(revision: number, rules: NetworkRule[]): Promise<number> {
    const answer = await this.link.request('rules/set', { revision, rules }, object({ revision: integer(0) }), {
      timeoutMs: ANSWER_MS,
    })
    return answer.revision
  }

  /** Variables for one process. Waits for a proxy that is about to come back. */
  async grantLease(lease: LeaseRequest, signal: AbortSignal): Promise<Record<string, string>> {
    await whenReady(this.link, { timeoutMs: COMES_BACK_MS, signal })
    return (await this.link.request('leases/grant', lease, leaseGranted, { timeoutMs: ANSWER_MS, signal })).environment
  }
  async revokeLease(leaseId: LeaseId): Promise<void> {
    await this.link.request('leases/revoke', { leaseId }, unknown, { timeoutMs: ANSWER_MS })
  }
}
