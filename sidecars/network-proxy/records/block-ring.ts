/** The latest refusals, with retries folded into one record each. */
import type { ConnectionFacts } from '../../protocol/host-channel.ts'
import type { Attribution } from '../leases.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionRecord } from './connection-record.ts'

const CAPACITY = 200
/** Equal blocks within this time are one record: a package manager retries two hundred times. */
export const REPEAT_WINDOW_MS = 10_000

export class BlockRing {
  /** Refusals since the start, repeats included. */
  total = 0
  private ring: ConnectionRecord[] = []
  private readonly recent = new Map<string, ConnectionRecord>()
  /** The one added or repeated last, found without its key. */
  private latest: ConnectionRecord | undefined

  constructor(private readonly nowMs: () => number) {}

  add(record: ConnectionRecord): void {
    this.total++
    this.ring.push(record)
    if (record.refusal) {
      this.recent.set(keyOf(record.destination, record.attribution, record.refusal), record)
      this.latest = record
    }
    if (this.ring.length > CAPACITY) this.dropOldest()
  }

  private dropOldest(): void {
    const oldest = this.ring.shift()
    if (!oldest?.refusal) return
    if (this.latest === oldest) this.latest = undefined
    const key = keyOf(oldest.destination, oldest.attribution, oldest.refusal)
    if (this.recent.get(key) === oldest) this.recent.delete(key)
  }

  /** The record that this refusal repeats, if there is one. */
  repeat(destination: Destination, attribution: Attribution, refusal: Refusal): ConnectionRecord | undefined {
    const { latest } = this
    const known =
      latest && repeats(latest, destination, attribution, refusal)
        ? latest
        : this.recent.get(keyOf(destination, attribution, refusal))
    if (!known || this.nowMs() - known.openedAtMs > REPEAT_WINDOW_MS) return undefined
    this.total++
    this.latest = known
    return known
  }

  /** Oldest first. */
  snapshot(): ConnectionFacts[] {
    return this.ring.map((record) => record.facts())
  }

  /** The same, and empties the ring; the total stays. */
  drain(): ConnectionFacts[] {
    const facts = this.snapshot()
    this.ring = []
    this.recent.clear()
    this.latest = undefined
    return facts
  }
}

/** The same as equal keys. */
function repeats(
  known: ConnectionRecord,
  { host, port, protocol }: Destination,
  { leaseId }: Attribution,
  { reason }: Refusal,
): boolean {
  const { destination } = known
  return (
    destination.host === host &&
    destination.port === port &&
    destination.protocol === protocol &&
    known.refusal?.reason === reason &&
    known.attribution.leaseId === leaseId
  )
}

function keyOf({ host, port, protocol }: Destination, { leaseId }: Attribution, { reason }: Refusal): string {
  return `${host} ${port} ${protocol} ${reason} ${leaseId ?? ''}`
}
