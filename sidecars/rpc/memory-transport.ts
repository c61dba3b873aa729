import type { CloseReason, Transport, TransportHandlers } from './transport.ts'

class MemoryTransport implements Transport {
  other!: MemoryTransport
  private handlers: TransportHandlers | undefined
  private inbox: string[] = []
  private paused = false
  private scheduled = false
  private ended: CloseReason | undefined
  readonly queuedBytes = 0

  constructor(readonly label: string) {}

  start(handlers: TransportHandlers): void {
    if (this.handlers) return
    this.handlers = handlers
    this.schedule()
  }
  send(text: string): boolean {
    if (this.ended || this.other.ended) return true
    this.other.inbox.push(text)
    this.other.schedule()
    return true
  }
  drained(): Promise<void> {
    return Promise.resolve()
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
    this.schedule()
  }
  close(message = 'closed here'): void {
    this.end({ code: 'local', message })
    this.other.end({ code: 'remote', message: 'closed by the other side' })
  }
  private end(reason: CloseReason): void {
    if (this.ended) return
    this.ended = reason
    this.schedule()
  }
  private schedule(): void {
    if (this.scheduled || !this.handlers) return
    this.scheduled = true
    queueMicrotask(() => {
      this.scheduled = false
      while (!this.paused && this.inbox.length > 0) this.handlers!.onMessage(this.inbox.shift()!)
      if (this.ended && this.inbox.length === 0 && !this.paused) {
        const { onClose } = this.handlers!
        this.handlers = { onMessage() {}, onProblem() {}, onClose() {} }
        onClose(this.ended)
      }
    })
  }
}

/** Two linked transports in one process, for tests. Delivery is asynchronous, ordered and unbounded. */
export function memoryPair(label = 'memory'): [Transport, Transport] {
  const a = new MemoryTransport(`${label} a`)
  const b = new MemoryTransport(`${label} b`)
  a.other = b
  b.other = a
  return [a, b]
}
