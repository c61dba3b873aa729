/**
 * Lets one connection's requests run until the connection closes.
 *
 * Requests that already run when the gate shuts finish normally; those still queued are skipped without
 * an answer, since nobody is there to read it.
 */
export class RequestGate {
  private running = 0
  private accepting = true
  private waiters: (() => void)[] = []

  get open(): boolean {
    return this.accepting
  }

  /** Runs `work` unless the gate is shut; tells whether it ran. */
  async pass(work: () => Promise<void>): Promise<boolean> {
    if (!this.accepting) return false
    this.running++
    try {
      await work()
    } finally {
      this.running--
      if (this.running === 0 && !this.accepting) for (const wake of this.waiters.splice(0)) wake()
    }
    return true
  }

  /** Shuts the gate; resolves when the last running request has finished. */
  shut(): Promise<void> {
    this.accepting = false
    if (this.running === 0) return Promise.resolve()
    return new Promise((resolve) => this.waiters.push(resolve))
  }
}
