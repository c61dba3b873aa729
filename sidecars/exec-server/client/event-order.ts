import type { OutputGap, ProcessEvent } from './process-event.ts'

/** More than this waiting behind a hole is let go again; the server still has it. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024
const MAX_WAITING_EVENTS = 4096

/**
 * Puts the events of one process into the order of their numbers, whatever order they arrive in:
 * each is delivered once, a repeat is ignored, one that comes early waits for those before it.
 */
export class EventOrder {
  private readonly waiting = new Map<number, ProcessEvent>()
  private waitingBytes = 0
  private next = 1
  private highest = 0

  constructor(private readonly deliver: (event: ProcessEvent | OutputGap) => void) {}

  /** The number that is delivered next. */
  get nextSeq(): number {
    return this.next
  }
  /** True while a number before the highest seen has not come. */
  get hasHole(): boolean {
    return this.next <= this.highest
  }
  /** One more than the highest number seen. */
  get endSeq(): number {
    return Math.max(this.highest + 1, this.next)
  }

  isWaiting(seq: number): boolean {
    return this.waiting.has(seq)
  }
  /** True when an event of this kind came early and waits. */
  holds(kind: ProcessEvent['kind']): boolean {
    for (const event of this.waiting.values()) if (event.kind === kind) return true
    return false
  }

  add(event: ProcessEvent): void {
    this.highest = Math.max(this.highest, event.seq)
    if (event.seq < this.next || this.waiting.has(event.seq)) return
    if (event.seq > this.next) return this.park(event)
    this.next++
    this.deliver(event)
    this.release()
  }

  /** Gives up on every number before `seq` that has not come. */
  skipTo(seq: number): void {
    if (seq <= this.next) return
    while (this.next < seq) {
      const present = this.take(this.next)
      if (present) {
        this.next++
        this.deliver(present)
        continue
      }
      const fromSeq = this.next
      while (this.next < seq && !this.waiting.has(this.next)) this.next++
      this.deliver({ kind: 'gap', fromSeq, toSeq: this.next - 1 })
    }
    this.release()
  }

  /** The end of the first hole: the lowest number that waits, or the end of all. */
  get holeEndSeq(): number {
    let lowest = this.endSeq
    for (const seq of this.waiting.keys()) lowest = Math.min(lowest, seq)
    return lowest
  }

  private park(event: ProcessEvent): void {
    const size = event.kind === 'output' ? event.bytes.length : 0
    const isFull = this.waiting.size >= MAX_WAITING_EVENTS || this.waitingBytes + size > MAX_WAITING_BYTES
    // Exit and close weigh nothing and are kept: the hole is then sure to be asked for.
    if (isFull && event.kind === 'output') return
    this.waiting.set(event.seq, event)
    this.waitingBytes += size
  }

  private release(): void {
    for (let event = this.take(this.next); event; event = this.take(this.next)) {
      this.next++
      this.deliver(event)
    }
  }

  private take(seq: number): ProcessEvent | undefined {
    const event = this.waiting.get(seq)
    if (!event) return undefined
    this.waiting.delete(seq)
    if (event.kind === 'output') this.waitingBytes -= event.bytes.length
    return event
  }
}
