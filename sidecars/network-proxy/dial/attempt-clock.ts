/**
 * One timer for all connection attempts: a timer of its own costs an attempt on this machine more than the
 * rest of its bookkeeping. It runs only while something is being dialled.
 */

export interface TimedAttempt {
  /** Called every 50 ms while the attempt is registered. */
  tick(nowMs: number): void
}

const TICK_EVERY_MS = 50

export class AttemptClock {
  private readonly attempts = new Set<TimedAttempt>()
  private timer: NodeJS.Timeout | undefined

  add(attempt: TimedAttempt): void {
    this.attempts.add(attempt)
    this.timer ??= setInterval(() => this.tick(), TICK_EVERY_MS)
  }

  delete(attempt: TimedAttempt): void {
    this.attempts.delete(attempt)
  }

  private tick(): void {
    const nowMs = performance.now()
    for (const attempt of this.attempts) attempt.tick(nowMs)
    if (this.attempts.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }
}
