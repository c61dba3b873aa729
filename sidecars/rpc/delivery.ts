import type { CloseReason, TransportHandlers, TransportProblem } from './transport.ts'

type Arrival = { text: string; bytes: number } | { problem: TransportProblem }

/**
 * The incoming half of a transport: keeps what arrived before `start` and while paused, hands it over
 * in order, and calls `onClose` exactly once after the last message.
 */
export class Delivery {
  private handlers: TransportHandlers | undefined
  private readonly waiting: Arrival[] = []
  private waitingSizeBytes = 0
  private isPaused = false
  private isDelivering = false
  private endReason: CloseReason | undefined
  private isOver = false

  /** `onConsumed` learns the size of each message once its handler has returned. */
  constructor(private readonly onConsumed: (bytes: number) => void = () => {}) {}

  get started(): boolean {
    return this.handlers !== undefined
  }
  get paused(): boolean {
    return this.isPaused
  }
  /** True once the transport ended, even when messages still wait to be handed over. */
  get ended(): boolean {
    return this.endReason !== undefined
  }
  get waitingBytes(): number {
    return this.waitingSizeBytes
  }

  start(handlers: TransportHandlers): void {
    if (this.handlers) return
    this.handlers = handlers
    this.run()
  }
  /** `bytes` is what the message weighs for flow control. */
  message(text: string, bytes = text.length): void {
    this.add({ text, bytes })
  }
  problem(problem: TransportProblem): void {
    this.add({ problem })
  }
  /** Later calls are ignored. With `discard`, messages not handed over yet are dropped. */
  end(reason: CloseReason, discard = false): void {
    if (this.endReason) return
    this.endReason = reason
    if (discard) {
      this.waiting.length = 0
      this.waitingSizeBytes = 0
      this.isPaused = false
    }
    this.run()
  }
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
    this.run()
  }

  private add(arrival: Arrival): void {
    if (this.endReason) return
    this.waiting.push(arrival)
    if ('text' in arrival) this.waitingSizeBytes += arrival.bytes
    this.run()
  }

  private run(): void {
    const { handlers } = this
    if (!handlers || this.isDelivering || this.isOver) return
    this.isDelivering = true
    try {
      let handed = 0
      while (!this.isPaused && handed < this.waiting.length) {
        const arrival = this.waiting[handed++] as Arrival
        if ('problem' in arrival) handlers.onProblem(arrival.problem)
        else {
          this.waitingSizeBytes -= arrival.bytes
          handlers.onMessage(arrival.text)
          this.onConsumed(arrival.bytes)
        }
        if (handed === this.waiting.length || this.isPaused) {
          this.waiting.splice(0, handed)
          handed = 0
        }
      }
    } finally {
      this.isDelivering = false
    }
    if (this.endReason && this.waiting.length === 0 && !this.isPaused) {
      this.isOver = true
      handlers.onClose(this.endReason)
    }
  }
}
