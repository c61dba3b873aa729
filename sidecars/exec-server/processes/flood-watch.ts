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
 * thread that takes a processor, too, halves what is got. Measured on two cores: two thirds wait, and one in twenty.
 */
const MIN_WAITING_SHARE = 0.5

/** Sees by the reads of one terminal whether they should rather be a thread's: see FloodReader. */
export class FloodWatch {
  /** Full ones since one that was not, or since the last verdict. */
  private reads = 0
  private waitsBefore = 0

  constructor(
    private readonly minWaitingShare: number = MIN_WAITING_SHARE,
    private readonly countWaits: () => number = waitsOfThisProcess,
  ) {}

  /** To be told of every read. True when those up to here were a flood and mostly waited; then it begins anew. */
  isFlood(bytesRead: number): boolean {
    if (bytesRead < READ_BYTES) {
      this.reads = 0
      return false
    }
    if (this.reads++ === 0) this.waitsBefore = this.countWaits()
    if (this.reads <= FLOOD_READS) return false
    this.reads = 0
    return this.countWaits() - this.waitsBefore >= this.minWaitingShare * FLOOD_READS
  }
}

/** Times that it gave a processor back because it had to wait. In a flood little of it does but the reader. */
function waitsOfThisProcess(): number {
  return process.resourceUsage().voluntaryContextSwitches
}
