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
  /** What was set or removed for the process, beside the usual environment. */
  envChanges?: Record<string, string | null>
}

/** Credentials with which processes reach the proxy, one each, and what they stand for. */
export class Leases {
  private readonly holders = new Map<LeaseId, LeaseHolder>()
  /** Leases in use, with the port of the proxy that their variables name. */
  private readonly active = new Map<LeaseId, { port: number | undefined }>()

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
    this.active.set(leaseId, { port: undefined })
    try {
      const environment = await this.proxy.grantLease({ leaseId, ...holder }, signal)
      // It may have been revoked meanwhile, because its process ended.
      if (this.active.has(leaseId)) this.active.set(leaseId, { port: portIn(environment) })
      return { leaseId, environment }
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
    for (const leaseId of this.active.keys())
      if (this.holders.get(leaseId)?.processId === processId) await this.revoke(leaseId)
  }

  async revoke(leaseId: LeaseId): Promise<void> {
    if (!this.active.delete(leaseId)) return
    await this.proxy.revokeLease(leaseId).catch(() => {
      // A proxy that is down has forgotten all leases.
    })
  }

  /** A new life of the proxy knows none of the leases: processes that still run get theirs again, where they look for it. */
  async grantAgain(): Promise<void> {
    for (const [leaseId, { port }] of this.active) {
      const holder = this.holders.get(leaseId)
      if (!holder || port === undefined) continue
      await this.proxy.grantLease({ leaseId, ...holder, port }, new AbortController().signal).catch(() => {
        // It ended again; its next life is told anew.
      })
    }
  }

  private remember(leaseId: LeaseId, holder: LeaseHolder): void {
    this.holders.set(leaseId, holder)
    const [oldest] = this.holders.keys()
    if (this.holders.size > REMEMBERED && oldest !== undefined) this.holders.delete(oldest)
  }
}

/** The loopback port in a proxy variable such as `http://127.0.0.1:4512`. */
function portIn(environment: Record<string, string>): number | undefined {
  const match = /^https?:\/\/(?:[^@/]*@)?[^/]*?:(\d{1,5})(?:\/|$)/.exec(
    environment.HTTP_PROXY ?? environment.http_proxy ?? '',
  )
  return match ? Number(match[1]) : undefined
}
