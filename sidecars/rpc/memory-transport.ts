import { Delivery } from './delivery.ts'
import { OutgoingGauge, type QueueLimits } from './outgoing-gauge.ts'
import type { CloseReason, Transport, TransportHandlers } from './transport.ts'

class MemoryTransport implements Transport {
  other!: MemoryTransport
  private readonly gauge: OutgoingGauge
  private readonly delivery = new Delivery((bytes) => this.other.gauge.remove(bytes))

  constructor(
    readonly label: string,
    limits: Partial<QueueLimits>,
  ) {
    this.gauge = new OutgoingGauge(limits)
  }

  get queuedBytes(): number {
    return this.gauge.queuedBytes
  }
  start(handlers: TransportHandlers): void {
    queueMicrotask(() => this.delivery.start(handlers))
  }
  send(text: string): boolean {
    if (this.delivery.ended) return true
    if (this.gauge.wouldOverflow(text.length)) {
      this.endBoth({ code: 'overflow', message: 'the other side does not read' }, false)
      return false
    }
    const hasRoom = this.gauge.add(text.length)
    queueMicrotask(() => this.other.delivery.message(text, text.length))
    return hasRoom
  }
  drained(): Promise<void> {
    return this.gauge.drained()
  }
  pause(): void {
    this.delivery.pause()
  }
  resume(): void {
    this.delivery.resume()
  }
  close(message = 'closed here'): void {
    this.endBoth({ code: 'local', message }, true)
  }

  private endBoth(reason: CloseReason, discard: boolean): void {
    if (this.delivery.ended) return
    this.gauge.release()
    this.delivery.end(reason, discard)
    queueMicrotask(() => {
      this.other.gauge.release()
      this.other.delivery.end({ code: 'remote', message: 'the other side closed the channel' })
    })
  }
}

/** Two linked transports in one process. Delivery is asynchronous, in order, and bounded like any other. */
export function memoryPair(label = 'memory', limits: Partial<QueueLimits> = {}): [Transport, Transport] {
  const a = new MemoryTransport(`${label} a`, limits)
  const b = new MemoryTransport(`${label} b`, limits)
  a.other = b
  b.other = a
  return [a, b]
}
