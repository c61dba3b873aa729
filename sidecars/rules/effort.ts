/**
 * What one verdict may cost, counted and not timed: a text gets the same verdict on every machine, however busy it is.
 * One unit is about a microsecond. Only what was made to hold up the reader ends by the clock.
 */
export class Effort {
  private readonly endsAtMs = cpuMs() + LONGEST_MS
  private spends = 0

  constructor(private left = MOST_EFFORT) {}

  /** False when nothing is left. */
  spend(units: number): boolean {
    this.left -= units
    if (++this.spends % SPENDS_BETWEEN_LOOKS === 0 && cpuMs() > this.endsAtMs) this.left = 0
    return this.left > 0
  }
}

/** Nothing that a person wrote takes this much; ten kilobytes of what agents write take 40,000. */
const MOST_EFFORT = 2_000_000
const LONGEST_MS = 8_000
const SPENDS_BETWEEN_LOOKS = 64

/** Processor time of this process. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
