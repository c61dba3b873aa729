/**
 * A fair lock of one turn's tool calls: parallel ones share it, the others have it alone. Whoever asks
 * first is served first, so that an exclusive call waits for running ones and later shared calls wait
 * behind it.
 */
export class ToolLock {
  private shared = 0
  private exclusive = false
  private readonly waiting: { alone: boolean; enter: () => void }[] = []

  /** Runs `work` under the lock; a signal that fires while it waits rejects with its reason. */
  async run<T>(alone: boolean, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.enter(alone, signal)
    try {
      return await work()
    } finally {
      if (alone) this.exclusive = false
      else this.shared--
      this.admit()
    }
  }

  private enter(alone: boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        const at = this.waiting.indexOf(entry)
        if (at === -1) return
        this.waiting.splice(at, 1)
        this.admit()
        reject(signal.reason as Error)
      }
      const entry = {
        alone,
        enter: () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.waiting.push(entry)
      this.admit()
    })
  }

  private admit(): void {
    for (;;) {
      const next = this.waiting[0]
      if (!next || this.exclusive || (next.alone && this.shared > 0)) return
      this.waiting.shift()
      if (next.alone) this.exclusive = true
      else this.shared++
      next.enter()
    }
  }
}
