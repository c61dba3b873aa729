/**
 * What one read of a terminal gives at most (N_TTY_BUF_SIZE - 1). A read that fills its room is followed by the next
 * at once, and that one waits in the system for what is on its way, where asking for readiness first would be a second
 * call and a later start.
 */
export const READ_BYTES = 4_095
/** So many full reads in a row, 128 KiB, are a flood: who types or looks at a page never makes one. */
const FLOOD_READS = 32
/**
 * The least part of the reads that had to wait. Where the reader waits, the processors are idle by turns and a thread
 * of its own gives half as much again; where they have other work, output is there before it is asked for, and a
 * thread that takes a processor, too, halves what is got. Measured on two cores: two thirds wait, and one in twenty, and
 * more or less of them for a moment: it is nearer to the one that costs more when it is taken for the other.
 */
const MIN_WAITING_SHARE = 0.25

/**
 * So much the thread reads after the first such verdict, and twice as much after each that confirms the one before.
 * In between the next verdict is made: what else the machine does changes, and by chance it looks otherwise.
 */
const MIN_SHARE_BYTES = 2 * 1024 * 1024
const MAX_SHARE_BYTES = 8 * 1024 * 1024

/** Sees by the reads of one terminal whether they should rather be a thread's: see FloodReader. */
export class FloodWatch {
  /** Full ones since one that was not, or since the last verdict. */
  private reads = 0
  private waitsBefore = 0
  private shareBytes = MIN_SHARE_BYTES

  constructor(
    private readonly minWaitingShare: number = MIN_WAITING_SHARE,
    private readonly countWaits: () => number = waitsOfThisProcess,
  ) {}

  /**
   * To be told of every read. When those up to here were a flood and mostly waited: how many of the next bytes the
   * thread should read. Otherwise 0.
   */
  threadShare(bytesRead: number): number {
    if (bytesRead < READ_BYTES) this.reads = 0
    else if (this.reads++ === 0) this.waitsBefore = this.countWaits()
    if (this.reads <= FLOOD_READS) return 0
    this.reads = 0
    const { shareBytes } = this
    const isWaiting = this.countWaits() - this.waitsBefore >= this.minWaitingShare * FLOOD_READS
    this.shareBytes = isWaiting ? Math.min(shareBytes * 2, MAX_SHARE_BYTES) : MIN_SHARE_BYTES
    return isWaiting ? shareBytes : 0
  }
}

/** Times that it gave a processor back because it had to wait. In a flood little of it does but the reader. */
function waitsOfThisProcess(): number {
  return process.resourceUsage().voluntaryContextSwitches
}
