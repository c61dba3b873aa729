/**
 * Serialization of client requests: first in, first out for each key; different keys never wait for
 * each other. Shared reads that stand next to each other run together; a write is never overtaken.
 */
import type { RequestGate } from './request-gate.ts'

export type Access = 'exclusive' | 'shared'

interface Entry {
  access: Access
  gate: RequestGate
  work: () => Promise<void>
}

/** Owned by the server; holds no more than what is queued. */
export class RequestQueues {
  private readonly queues = new Map<string, Entry[]>()

  /**
   * Queues `work` under `key`. Nothing of it runs before its turn; it is skipped when its gate has shut
   * by then. `work` turns its own failures into an answer; one that throws is reported and passed over.
   */
  enqueue(key: string, access: Access, gate: RequestGate, work: () => Promise<void>): void {
    const queue = this.queues.get(key)
    if (queue) {
      queue.push({ access, gate, work })
      return
    }
    const fresh: Entry[] = [{ access, gate, work }]
    this.queues.set(key, fresh)
    void this.drain(key, fresh)
  }

  /** Keys with work queued or running. */
  get size(): number {
    return this.queues.size
  }

  private async drain(key: string, queue: Entry[]): Promise<void> {
    // One turn of the event loop first, so that a burst of shared reads forms one batch.
    await Promise.resolve()
    while (queue.length > 0) {
      const batch = [queue.shift()!]
      if (batch[0]!.access === 'shared') while (queue[0]?.access === 'shared') batch.push(queue.shift()!)
      await Promise.allSettled(batch.map(({ gate, work }) => gate.pass(work)))
    }
    this.queues.delete(key)
  }
}
