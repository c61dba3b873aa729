/** Everything that is open towards clients: who must end when a lease, a rule or the proxy itself ends. */
import type { Attribution } from './leases.ts'
import type { Refusal } from './policy/refusal.ts'
import type { Policy } from './policy/policy.ts'
import type { Destination } from './policy/rule-table.ts'
import type { LeaseId } from '../protocol/ids.ts'

export interface LiveConnection {
  attribution: Attribution
  /** Where bytes flow to right now; undefined between requests. */
  destination: Destination | undefined
  /** The tunnel is opaque: nobody can see the methods inside. */
  opaque: boolean
  /** Ends both sides at once. With a refusal it is recorded as blocked for that. */
  end(refusal?: Refusal): void
  /** Called about once a second, for limits on waiting and idling. */
  tick(nowMs: number): void
  /** Verdicts that were kept may be out of date. */
  rulesChanged?(): void
}

const TICK_EVERY_MS = 1000

export class LiveConnections {
  private readonly connections = new Set<LiveConnection>()
  private readonly timer: NodeJS.Timeout
  private readonly whenEmpty: (() => void)[] = []

  constructor(private readonly nowMs: () => number = Date.now) {
    this.timer = setInterval(() => this.tick(), TICK_EVERY_MS)
    this.timer.unref()
  }

  add(connection: LiveConnection): void {
    this.connections.add(connection)
  }

  delete(connection: LiveConnection): void {
    this.connections.delete(connection)
    if (this.connections.size === 0) for (const resolve of this.whenEmpty.splice(0)) resolve()
  }

  get size(): number {
    return this.connections.size
  }

  endLease(leaseId: LeaseId): void {
    for (const connection of this.connections) if (connection.attribution.leaseId === leaseId) connection.end()
  }

  /** After a change of rules or mode: what the policy now denies ends, approvals that still stand go on. */
  recheck(policy: Policy): void {
    for (const connection of this.connections) {
      connection.rulesChanged?.()
      if (connection.destination === undefined) continue
      const ruling = policy.judge(connection.destination, connection.attribution.sessionId)
      if (ruling.verdict === 'deny' && ruling.refusal.reason !== 'not_allowed') connection.end(ruling.refusal)
      else if (connection.opaque && policy.mode === 'limited')
        connection.end({ reason: 'mitm_required', source: 'mode_guard' })
    }
  }

  tick(): void {
    const nowMs = this.nowMs()
    for (const connection of this.connections) connection.tick(nowMs)
  }

  /** Lets requests and tunnels go on for `graceMs`, then ends whatever is left. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.timer)
    for (const connection of this.connections) if (connection.destination === undefined) connection.end()
    if (this.connections.size > 0 && graceMs > 0) {
      let timer: NodeJS.Timeout | undefined
      await Promise.race([
        new Promise<void>((resolve) => this.whenEmpty.push(resolve)),
        new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs))),
      ])
      clearTimeout(timer)
    }
    for (const connection of this.connections) connection.end()
  }
}
