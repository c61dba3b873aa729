/** Leases: what names one process of one session to the proxy. */
import type { LeaseId, ProcessId, SessionId } from '../protocol/ids.ts'

/** To whom a connection belongs. All members absent = nobody known. */
export interface Attribution {
  leaseId?: LeaseId
  processId?: ProcessId
  sessionId?: SessionId
  command?: string
  /** The proxy's own traffic: it leaves no records. */
  unrecorded?: boolean
}
export interface Lease extends Attribution {
  leaseId: LeaseId
  sessionId: SessionId
}

export const UNATTRIBUTED: Attribution = Object.freeze({})

export class LeaseRegistry {
  private readonly leases = new Map<string, Lease>()

  grant(lease: Lease): void {
    this.leases.set(lease.leaseId, lease)
  }

  revoke(leaseId: LeaseId): void {
    this.leases.delete(leaseId)
  }

  /** Whose credential this is; an unknown one is nobody's, never somebody else's. */
  attribution(credential: string | undefined): Attribution {
    return (credential === undefined ? undefined : this.leases.get(credential)) ?? UNATTRIBUTED
  }
}

/** The user name of `Basic` credentials, which is where a lease travels. */
export function basicUser(proxyAuthorization: string | undefined): string | undefined {
  if (proxyAuthorization === undefined) return undefined
  const match = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(proxyAuthorization)
  if (!match) return undefined
  const text = Buffer.from(match[1]!, 'base64').toString('latin1')
  const colon = text.indexOf(':')
  return colon < 0 ? text : text.slice(0, colon)
}
