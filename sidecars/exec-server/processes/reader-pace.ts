/** A reader that has not asked for this long is not waited for any more. */
const PATIENCE_MS = 2_000

/**
 * Holds a process back for a client that reads its output page by page: what is printed may not run so
 * far ahead that the oldest unread output would be dropped.
 */
export class ReaderPace {
  private positionBytes = 0
  private isFollowed = false
  private isHolding = false
  private patience: NodeJS.Timeout | undefined

  constructor(
    /** How far ahead the output may be. */
    private readonly leadBytes: number,
    private readonly totalBytes: () => number,
    private readonly hold: () => void,
    private readonly release: () => void,
  ) {}

  /** The reader asks for the output after `positionBytes` bytes. */
  asked(positionBytes: number): void {
    this.positionBytes = positionBytes
    this.isFollowed = true
    if (this.patience) this.patience.refresh()
    else this.patience = setTimeout(() => this.giveUp(), PATIENCE_MS).unref()
    this.check()
  }

  /** To be called when output has come. */
  check(): void {
    if (!this.isFollowed) return
    const isAhead = this.totalBytes() - this.positionBytes > this.leadBytes
    if (isAhead === this.isHolding) return
    this.isHolding = isAhead
    if (isAhead) this.hold()
    else this.release()
  }

  dispose(): void {
    clearTimeout(this.patience)
    this.isFollowed = false
  }

  private giveUp(): void {
    this.patience = undefined
    this.isFollowed = false
    if (!this.isHolding) return
    this.isHolding = false
    this.release()
  }
}
