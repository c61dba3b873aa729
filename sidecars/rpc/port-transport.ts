import { Delivery } from './delivery.ts'
import { OutgoingGauge, type QueueLimits } from './outgoing-gauge.ts'
import type { PortLike } from './port-like.ts'
import type { CloseReason, Transport, TransportHandlers } from './transport.ts'

/** Electron's `process.parentPort` in a utility process. */
export interface ParentPortLike {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: unknown; ports: PortLike[] }) => void): unknown
}
/** Electron's `UtilityProcess` as seen from main. */
export interface UtilityProcessLike {
  postMessage(message: unknown): void
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
}
/** A `MessagePort` of worker_threads. */
export interface WorkerPortLike {
  postMessage(message: unknown): void
  on(event: 'message', listener: (message: unknown) => void): unknown
  on(event: 'close', listener: () => void): unknown
  close(): void
}

/** What a port transport needs from one of the port flavours; see the `…Carrier` functions. */
export interface PortCarrier {
  post(message: unknown): void
  listen(onMessage: (message: unknown, ports: PortLike[]) => void, onClose: () => void): void
  /** Absent where only the end of the process closes the channel. */
  close?(): void
}

export function parentPortCarrier(port: ParentPortLike): PortCarrier {
  return {
    post: (message) => port.postMessage(message),
    listen: (onMessage) => void port.on('message', ({ data, ports }) => onMessage(data, ports)),
  }
}

export function utilityProcessCarrier(port: UtilityProcessLike): PortCarrier {
  return {
    post: (message) => port.postMessage(message),
    listen: (onMessage, onClose) => {
      port.on('message', (message) => onMessage(message, []))
      port.on('exit', onClose)
    },
  }
}

/** For `MessagePortMain` of Electron, whose events carry `data`. */
export function messagePortCarrier(port: PortLike): PortCarrier {
  return {
    post: (message) => port.postMessage(message),
    listen: (onMessage, onClose) => {
      port.on('message', ({ data }) => onMessage(data, []))
      port.on('close', onClose)
      port.start()
    },
    close: () => port.close(),
  }
}

export function workerPortCarrier(port: WorkerPortLike): PortCarrier {
  return {
    post: (message) => port.postMessage(message),
    listen: (onMessage, onClose) => {
      port.on('message', (message) => onMessage(message, []))
      port.on('close', onClose)
    },
    close: () => port.close(),
  }
}

export type PortListener = (message: unknown, port: PortLike) => void

const ACK = 'gatehouse.ack'
const CLOSE = 'gatehouse.close'
/** Consumed messages are acknowledged in steps of this many bytes, the rest once a turn of the event loop. */
const ACK_STEP_BYTES = 64 * 1024

/**
 * One JSON text a port message. Ports have no back-pressure of their own, so the receiving transport
 * acknowledges what its owner has taken; `queuedBytes` is what was not acknowledged yet. Messages that
 * bring a port of their own are no JSON-RPC and go to the `onPort` listeners.
 */
export class PortTransport implements Transport {
  private readonly delivery = new Delivery((bytes) => this.consumed(bytes))
  private readonly gauge: OutgoingGauge
  private readonly portListeners: PortListener[] = []
  private readonly earlyPorts: [unknown, PortLike][] = []
  private unacknowledgedBytes = 0
  private isAckDue = false

  constructor(
    readonly label: string,
    private readonly carrier: PortCarrier,
    options: Partial<QueueLimits> = {},
  ) {
    this.gauge = new OutgoingGauge(options)
    carrier.listen(
      (message, ports) => this.receive(message, ports),
      () => this.end({ code: 'remote', message: 'the other side closed the channel' }),
    )
  }

  get queuedBytes(): number {
    return this.gauge.queuedBytes
  }

  start(handlers: TransportHandlers): void {
    this.delivery.start(handlers)
  }

  /** Ports that arrived before the first listener are kept for it. */
  onPort(listener: PortListener): void {
    this.portListeners.push(listener)
    for (const [message, port] of this.earlyPorts.splice(0)) listener(message, port)
  }

  send(text: string): boolean {
    if (this.delivery.ended) return true
    if (this.gauge.wouldOverflow(text.length)) {
      const message = `the other side does not read: ${this.gauge.queuedBytes} bytes are waiting`
      this.end({ code: 'overflow', message })
      this.carrier.post({ type: CLOSE })
      this.carrier.close?.()
      return false
    }
    const hasRoom = this.gauge.add(text.length)
    this.carrier.post(text)
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
    if (this.delivery.ended) return
    this.carrier.post({ type: CLOSE })
    this.end({ code: 'local', message }, true)
    this.carrier.close?.()
  }

  private receive(message: unknown, ports: PortLike[]): void {
    if (typeof message === 'string') return this.delivery.message(message, message.length)
    const [port] = ports
    if (port) {
      if (this.portListeners.length === 0) this.earlyPorts.push([message, port])
      for (const listener of this.portListeners) listener(message, port)
      return
    }
    const control = message as { type?: unknown; bytes?: unknown } | null
    if (control?.type === ACK && typeof control.bytes === 'number') this.gauge.remove(control.bytes)
    else if (control?.type === CLOSE) this.end({ code: 'remote', message: 'the other side closed the channel' })
    else this.delivery.problem({ code: 'not-a-message', message: 'a port message is neither JSON text nor a port' })
  }

  private consumed(bytes: number): void {
    this.unacknowledgedBytes += bytes
    if (this.unacknowledgedBytes >= ACK_STEP_BYTES) this.acknowledge()
    else if (!this.isAckDue) {
      this.isAckDue = true
      setImmediate(() => {
        this.isAckDue = false
        this.acknowledge()
      })
    }
  }

  private acknowledge(): void {
    if (this.delivery.ended || this.unacknowledgedBytes === 0) return
    this.carrier.post({ type: ACK, bytes: this.unacknowledgedBytes })
    this.unacknowledgedBytes = 0
  }

  private end(reason: CloseReason, discard = false): void {
    if (this.delivery.ended) return
    this.gauge.release()
    this.delivery.end(reason, discard)
  }
}
