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
  /** Where `LiveConnections` keeps it; nobody else's business. */
  place?: LivePlace | undefined
}

/** One link of the list. */
export class LivePlace {
  previous: LivePlace | undefined
  next: LivePlace | undefined
  constructor(readonly connection: LiveConnection) {}
}

const TICK_EVERY_MS = 1000

/**
 * A linked list rather than a Set: with thousands of connections a second, the tables that a Set leaves
 * behind go on pointing at connections that are gone, and keep them from being collected early.
 */
export class LiveConnections {
  private first: LivePlace | undefined
  private count = 0
  private readonly timer: NodeJS.Timeout
  private readonly whenEmpty: (() => void)[] = []

  constructor(private readonly nowMs: () => number = Date.now) {
    this.timer = setInterval(() => this.tick(), TICK_EVERY_MS)
    this.timer.unref()
  }

  add(connection: LiveConnection): void {
    if (connection.place) return
    const place = new LivePlace(connection)
    place.next = this.first
    if (this.first) this.first.previous = place
    this.first = place
    this.count++
    connection.place = place
  }

  delete(connection: LiveConnection): void {
    const { place } = connection
    if (!place) return
    const { previous, next } = place
    if (previous) previous.next = next
    else this.first = next
    if (next) next.previous = previous
    place.previous = place.next = connection.place = undefined
    this.count--
    if (this.count === 0) for (const resolve of this.whenEmpty.splice(0)) resolve()
  }

  get size(): number {
    return this.count
  }

  /** Those that are here now, without the ones that leave while others are visited. */
  private forEach(visit: (connection: LiveConnection) => void): void {
    const places: LivePlace[] = []
    for (let place = this.first; place; place = place.next) places.push(place)
    for (const place of places) if (place.connection.place === place) visit(place.connection)
  }

  endLease(leaseId: LeaseId): void {
    this.forEach((connection) => {
      if (connection.attribution.leaseId === leaseId) connection.end()
    })
  }

  /** After a change of rules or mode: what the policy now denies ends, approvals that still stand go on. */
  recheck(policy: Policy): void {
    this.forEach((connection) => {
      connection.rulesChanged?.()
      if (connection.destination === undefined) return
      const ruling = policy.judge(connection.destination, connection.attribution.sessionId)
      if (ruling.verdict === 'deny' && ruling.refusal.reason !== 'not_allowed') connection.end(ruling.refusal)
      else if (connection.opaque && policy.mode === 'limited')
        connection.end({ reason: 'mitm_required', source: 'mode_guard' })
    })
  }

  tick(): void {
    const nowMs = this.nowMs()
    this.forEach((connection) => connection.tick(nowMs))
  }

  /** Lets requests and tunnels go on for `graceMs`, then ends whatever is left. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.timer)
    this.forEach((connection) => {
      if (connection.destination === undefined) connection.end()
    })
    if (this.count > 0 && graceMs > 0) {
      let timer: NodeJS.Timeout | undefined
      await Promise.race([
        new Promise<void>((resolve) => this.whenEmpty.push(resolve)),
        new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs))),
      ])
      clearTimeout(timer)
    }
    this.forEach((connection) => connection.end())
  }
}
