import type { FloodThread } from './flood-thread.ts'

export interface FloodEvents {
  /** In order, each once; valid during the call. */
  onBytes(bytes: Buffer): void
  /** Once, and after the last bytes: nobody else reads the descriptor any more. Never from within `onBytes`. */
  onOver(): void
}

/**
 * So long after the last bytes the next ones are looked for in every turn of the event loop, which costs a
 * processor. Being woken costs more while they come, and the flood is usually over long before.
 */
const LOOK_AGAIN_MS = 5
/** Later, and until the thread says that it is over. It may have no processor, or waits for the system. */
const QUIET_LOOK_MS = 1
/** Longest wait for the end of a read. It takes less than one, unless the machine has other things to do. */
const FINISH_MS = 20

/**
 * The output of one terminal while the thread reads it, from the first byte that it reads to the last. In one
 * turn of the event loop comes no more than the ring holds, and then everybody else has a turn.
 */
export class Flood {
  private isTaking = false
  private isOver = false
  private lastBytesMs = performance.now()
  private bytes = 0

  constructor(
    private readonly thread: FloodThread,
    private readonly part: { fd: number; shareBytes: number },
    private readonly events: FloodEvents,
  ) {
    thread.read(part.fd)
    setImmediate(this.look)
  }

  /** Reads nothing more. What has been read comes soon, and then the end. */
  stop(): void {
    this.thread.askToStop()
  }

  /** The same, but all comes at once, unless this is called from within `onBytes` or the thread cannot be had. */
  finish(): void {
    this.stop()
    if (!this.isTaking && this.thread.waitUntilIdle(FINISH_MS)) this.take()
  }

  private readonly look = (): void => {
    if (this.isOver) return
    const bytes = this.take()
    if (this.isOver) return
    this.bytes += bytes
    if (this.bytes >= this.part.shareBytes) this.stop()
    const now = performance.now()
    if (bytes > 0) this.lastBytesMs = now
    if (now - this.lastBytesMs < LOOK_AGAIN_MS) setImmediate(this.look)
    else setTimeout(this.look, QUIET_LOOK_MS)
  }

  private take(): number {
    // In this order: when it was idle before, nothing comes after what is there now.
    const isLast = this.thread.isIdle
    this.isTaking = true
    const bytes = this.thread.take((bytes) => this.events.onBytes(bytes))
    this.isTaking = false
    if (isLast && !this.isOver) {
      this.isOver = true
      this.events.onOver()
    }
    return bytes
  }
}
