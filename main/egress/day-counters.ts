import type { FeedCounters } from '../../preload/api.ts'

/** Midnight of the owner's clock. */
export function startOfDay(atMs: number): number {
  return new Date(atMs).setHours(0, 0, 0, 0)
}

/** The day's figures; they start anew at the owner's midnight. */
export class DayCounters {
  private day: number
  private counts = { allowedToday: 0, blockedToday: 0, decidedToday: 0 }
  private connectionsTotal = 0

  constructor(
    private readonly publish: (counters: FeedCounters) => void,
    private readonly now: () => number = Date.now,
  ) {
    this.day = startOfDay(now())
  }

  /** Adds to what happened today. `connections`: how many of these are connections, for the total. */
  add(change: { allowed?: number; blocked?: number; decided?: number; connections?: number }): void {
    this.turnDay()
    this.counts.allowedToday += change.allowed ?? 0
    this.counts.blockedToday += change.blocked ?? 0
    this.counts.decidedToday += change.decided ?? 0
    this.connectionsTotal += change.connections ?? 0
    this.publish({ ...this.counts, connectionsTotal: this.connectionsTotal })
  }

  private turnDay(): void {
    const today = startOfDay(this.now())
    // A clock that was set back does not bring yesterday's figures back.
    if (today <= this.day) return
    this.day = today
    this.counts = { allowedToday: 0, blockedToday: 0, decidedToday: 0 }
  }
}
