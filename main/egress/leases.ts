import { randomBytes } from 'node:crypto'
import type { LeaseId, ProcessId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { NetworkProxyClient } from '../sidecar-clients/network-proxy-client.ts'

/** Connections are told about after their process has ended, so leases are remembered for a while. */
const REMEMBERED = 5_000

export interface LeaseHolder {
  /** Absent for a shell of the owner, whose programs all share one lease. */
  processId?: ProcessId
  sessionId: SessionId
  /** As it was asked about, for people. */
  command: string
}

/** Credentials with which processes reach the proxy, one each, and what they stand for. */
export class Leases {
  private readonly holders = new Map<LeaseId, LeaseHolder>()
  private readonly active = new Map<ProcessId, LeaseId>()

  constructor(private readonly proxy: Pick<NetworkProxyClient, 'grantLease' | 'revokeLease'>) {}

  /**
   * Variables that take a process through the proxy. Rejects with `unavailable` when there is no proxy:
   * without one nobody would see what the process reaches.
   */
  async grant(
    holder: LeaseHolder,
    signal: AbortSignal,
  ): Promise<{ leaseId: LeaseId; environment: Record<string, string> }> {
    // Whoever knows it acts in the process's name.
    const leaseId = `lea_${randomBytes(16).toString('hex')}` as LeaseId
    this.remember(leaseId, holder)
    if (holder.processId !== undefined) this.active.set(holder.processId, leaseId)
    try {
      return { leaseId, environment: await this.proxy.grantLease({ leaseId, ...holder }, signal) }
    } catch (error) {
      await this.revoke(leaseId)
      throw error
    }
  }

  holderOf(leaseId: LeaseId): LeaseHolder | undefined {
    return this.holders.get(leaseId)
  }

  /** Ends the lease of a process and the connections made with it. */
  async revokeProcess(processId: ProcessId): Promise<void> {
    const leaseId = this.active.get(processId)
    if (leaseId !== undefined) await this.revoke(leaseId)
  }

  async revoke(leaseId: LeaseId): Promise<void> {
    const { processId } = this.holders.get(leaseId) ?? {}
    if (processId !== undefined) this.active.delete(processId)
    await this.proxy.revokeLease(leaseId).catch(() => {
      // A proxy that is down has forgotten all leases.
    })
  }

  /** A new life of the proxy knows none of the old leases. */
  forgetActive(): void {
    this.active.clear()
  }

  private remember(leaseId: LeaseId, holder: LeaseHolder): void {
    this.holders.set(leaseId, holder)
    const [oldest] = this.holders.keys()
    if (this.holders.size > REMEMBERED && oldest !== undefined) this.holders.delete(oldest)
  }
}
