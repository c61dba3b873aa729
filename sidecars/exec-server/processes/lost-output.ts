import type { OutputGap } from './output-log.ts'

/** Marks kept; beyond it every second one is let go, which makes older gaps a little less exact. */
const MAX_MARKS = 4_096

/**
 * What can no longer be read of a process's output: always everything up to one sequence number.
 * Remembers enough to say how many bytes a reader has missed.
 */
export class LostOutput {
  /** Highest number lost; 0 while nothing is. */
  throughSeq = 0
  private marks: { seq: number; bytesThrough: number }[] = []

  /** Everything up to `seq` is gone; `bytesThrough` bytes had been written by then. */
  add(seq: number, bytesThrough: number): void {
    if (seq <= this.throughSeq) return
    this.throughSeq = seq
    this.marks.push({ seq, bytesThrough })
    if (this.marks.length > MAX_MARKS)
      this.marks = this.marks.filter((_, index) => index % 2 === 1 || index === this.marks.length - 1)
  }

  /** What a reader that has everything up to `afterSeq` will not get. */
  gapAfter(afterSeq: number): OutputGap | undefined {
    const last = this.marks.at(-1)
    if (!last || afterSeq >= last.seq) return undefined
    const known = this.marks.findLast((mark) => mark.seq <= afterSeq)
    return { fromSeq: afterSeq + 1, toSeq: last.seq, bytes: last.bytesThrough - (known?.bytesThrough ?? 0) }
  }
}
