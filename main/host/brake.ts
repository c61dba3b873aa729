/** Far below what the exec server keeps on disk, far above what a terminal lags behind. */
const STOP_AT_BYTES = 64 * 1024 * 1024
const GO_ON_AT_BYTES = 8 * 1024 * 1024
/** News of a process come this often while only its counts change. */
const LOOK_INTERVAL_MS = 100

/**
 * Holds a process while nobody takes its output, as a full pipe would: nothing it printed is lost, however
 * slow the reader is. The owner calls `release` when the output has ended.
 */
export class Brake {
  private takenBytes = 0
  private isStopped = false
  private readonly timer = setInterval(() => this.look(), LOOK_INTERVAL_MS)

  constructor(
    private readonly signal: (signal: 'stop' | 'continue') => Promise<unknown>,
    private readonly producedBytes: () => number,
  ) {}

  /** The reader took this much more. */
  taken(bytes: number): void {
    this.takenBytes += bytes
    if (this.isStopped) this.look()
  }

  release(): void {
    clearInterval(this.timer)
  }

  private look(): void {
    const waitingBytes = this.producedBytes() - this.takenBytes
    if (this.isStopped ? waitingBytes >= GO_ON_AT_BYTES : waitingBytes <= STOP_AT_BYTES) return
    this.isStopped = !this.isStopped
    // One that has ended meanwhile needs neither.
    void this.signal(this.isStopped ? 'stop' : 'continue').catch(() => {})
  }
}
