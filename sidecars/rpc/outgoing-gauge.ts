/** Limits of a transport's outgoing queue, in bytes. */
export interface QueueLimits {
  /** `send` answers false from here on. */
  highWaterBytes: number
  /** `drained()` resolves below this. */
  lowWaterBytes: number
  /** Past this the transport closes with `overflow`. One message is always accepted by an empty queue. */
  maxQueuedBytes: number
}

/**
 * 1 MiB keeps a loopback carrier busy between two turns of the event loop; 192 MiB holds the largest
 * message we accept (64 MiB) three times over, so only a peer that never reads gets there.
 */
export const DEFAULT_QUEUE_LIMITS: QueueLimits = {
  highWaterBytes: 1024 * 1024,
  lowWaterBytes: 256 * 1024,
  maxQueuedBytes: 192 * 1024 * 1024,
}

/** Counts the bytes that wait to leave a transport and wakes senders that wait for room. */
export class OutgoingGauge {
  readonly limits: QueueLimits
  private queued = 0
  private readonly waiters: (() => void)[] = []
  private isReleased = false

  constructor(limits: Partial<QueueLimits> = {}) {
    this.limits = { ...DEFAULT_QUEUE_LIMITS, ...limits }
  }

  get queuedBytes(): number {
    return this.queued
  }
  /** True when `bytes` more would pass the hard bound. */
  wouldOverflow(bytes: number): boolean {
    return this.queued > 0 && this.queued + bytes > this.limits.maxQueuedBytes
  }
  /** Returns false at or past the high-water mark. */
  add(bytes: number): boolean {
    this.queued += bytes
    return this.queued < this.limits.highWaterBytes
  }
  remove(bytes: number): void {
    this.queued = Math.max(0, this.queued - bytes)
    if (this.queued < this.limits.lowWaterBytes) this.wake()
  }
  drained(): Promise<void> {
    if (this.isReleased || this.queued < this.limits.highWaterBytes) return Promise.resolve()
    return new Promise((resolve) => this.waiters.push(resolve))
  }
  /** The transport ended: nobody waits any more. */
  release(): void {
    this.isReleased = true
    this.queued = 0
    this.wake()
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter()
  }
}
