import type { ProcessOutput } from './process-event.ts'

/** The record around an output; counted so that a flood of single bytes is bounded too. */
const RECORD_BYTES = 64

/** The last sequence number that an output covers. */
export const lastSeqOf = (output: ProcessOutput): number => (output.kind === 'gap' ? output.toSeq : output.seq)
const weightOf = (output: ProcessOutput): number => RECORD_BYTES + (output.kind === 'output' ? output.bytes.length : 0)

/**
 * The newest output of one process, in order and within a bound. Readers keep their own place; what
 * a slow one misses here it reads again from the server.
 */
export class OutputWindow {
  private readonly outputs: ProcessOutput[] = []
  private sizeBytes = 0
  private dropped = 0
  private readonly waiters = new Set<() => void>()

  constructor(private readonly maxBytes: number) {}

  /** Everything up to this number has left the window (0 = nothing has). */
  get droppedThroughSeq(): number {
    return this.dropped
  }

  push(output: ProcessOutput): void {
    this.outputs.push(output)
    this.sizeBytes += weightOf(output)
    this.trim()
    this.wake()
  }

  /** The first output beyond `afterSeq` that the window still holds. */
  after(afterSeq: number): ProcessOutput | undefined {
    let low = 0
    let high = this.outputs.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (lastSeqOf(this.outputs[middle] as ProcessOutput) > afterSeq) high = middle
      else low = middle + 1
    }
    return this.outputs[low]
  }

  /** Resolves at the next `push` or `wake`. */
  changed(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.waiters.delete(done)
        reject(signal?.reason as Error)
      }
      const done = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      if (signal?.aborted) return onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
      this.waiters.add(done)
    })
  }

  /** Lets every waiting reader look again, for example because the process ended. */
  wake(): void {
    const waiting = [...this.waiters]
    this.waiters.clear()
    for (const wake of waiting) wake()
  }

  private trim(): void {
    let surplus = 0
    // One output always stays, or a single huge one could never be read from here.
    while (this.sizeBytes > this.maxBytes && surplus < this.outputs.length - 1) {
      const oldest = this.outputs[surplus++] as ProcessOutput
      this.sizeBytes -= weightOf(oldest)
      this.dropped = lastSeqOf(oldest)
    }
    if (surplus > 0) this.outputs.splice(0, surplus)
  }
}
