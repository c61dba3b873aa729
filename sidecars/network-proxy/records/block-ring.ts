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

  constructor(private readonly nowMs: () => number) {}

  add(record: ConnectionRecord): void {
    this.total++
    this.ring.push(record)
    if (record.refusal) this.recent.set(keyOf(record.destination, record.attribution, record.refusal), record)
    if (this.ring.length > CAPACITY) this.dropOldest()
  }

  private dropOldest(): void {
    const oldest = this.ring.shift()
    if (!oldest?.refusal) return
    const key = keyOf(oldest.destination, oldest.attribution, oldest.refusal)
    if (this.recent.get(key) === oldest) this.recent.delete(key)
  }

  /** The record that this refusal repeats, if there is one. */
  repeat(destination: Destination, attribution: Attribution, refusal: Refusal): ConnectionRecord | undefined {
    const known = this.recent.get(keyOf(destination, attribution, refusal))
    if (!known || this.nowMs() - known.openedAtMs > REPEAT_WINDOW_MS) return undefined
    this.total++
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
    return facts
  }
}

function keyOf({ host, port, protocol }: Destination, { leaseId }: Attribution, { reason }: Refusal): string {
  return `${host} ${port} ${protocol} ${reason} ${leaseId ?? ''}`
}
