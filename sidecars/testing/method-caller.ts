import type { Carrier, CarrierHandlers } from '../exec-server/wire/carrier.ts'
import type { Fill, MessagePiece } from '../exec-server/wire/message-piece.ts'
import type { MethodTable } from '../exec-server/wire/method-table.ts'
import { WireConnection } from '../exec-server/wire/wire-connection.ts'

/** What a method answered with, when it refused. */
export class RefusedCall extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

/** A carrier that ends in memory: what the server sends is read back as messages. */
class MemoryCarrier implements Carrier {
  readonly label = 'test'
  readonly kind = 'JSON-RPC message'
  handlers: CarrierHandlers | undefined
  queuedBytes = 0
  isCongested = false

  constructor(private readonly onMessage: (text: string) => void) {}

  start(handlers: CarrierHandlers): void {
    this.handlers = handlers
  }
  sendText(text: string): void {
    this.onMessage(text)
  }
  sendFilled(sizeBytes: number, fill: Fill): void {
    const target = Buffer.alloc(sizeBytes)
    fill(target, 0)
    this.onMessage(target.toString())
  }
  async sendParts(pieces: AsyncIterable<MessagePiece>, last: MessagePiece): Promise<void> {
    const taken: Buffer[] = []
    const take = ({ sizeBytes, fill }: MessagePiece) => {
      const bytes = Buffer.alloc(sizeBytes)
      fill(bytes, 0)
      taken.push(bytes)
    }
    for await (const piece of pieces) take(piece)
    take(last)
    this.onMessage(Buffer.concat(taken).toString())
  }
  pause(): void {}
  resume(): void {}
  close(reason: string): void {
    const { handlers } = this
    this.handlers = undefined
    handlers?.onClose(reason)
  }
}

/** One connection to a table of methods, past its handshake, through the server's own message handling. */
export class MethodCaller {
  readonly notifications: { method: string; params: Record<string, unknown> }[] = []
  readonly connection: WireConnection
  readonly carrier: MemoryCarrier
  private readonly waiting = new Map<number, (message: Record<string, unknown>) => void>()
  private nextId = 1

  constructor(methods: MethodTable) {
    this.carrier = new MemoryCarrier((text) => this.receive(text))
    const handshake = { initialize: async () => ({}), initialized: () => true, requireReady: () => {} }
    const identity = { kind: 'agent', via: 'test', address: 'test' } as const
    this.connection = new WireConnection(this.carrier, identity, methods, handshake, () => {})
    this.connection.start()
  }

  /** The result; rejects with RefusedCall. */
  async call(method: string, params: unknown): Promise<Record<string, unknown>> {
    const id = this.nextId++
    const answer = new Promise<Record<string, unknown>>((resolve) => this.waiting.set(id, resolve))
    this.carrier.handlers?.onMessage(Buffer.from(JSON.stringify({ id, method, params })))
    const { result, error } = (await answer) as {
      result?: Record<string, unknown>
      error?: { code: number; message: string; data?: unknown }
    }
    if (error) throw new RefusedCall(error.code, error.message, error.data)
    return result as Record<string, unknown>
  }

  close(): void {
    this.carrier.close('the test is over')
  }

  private receive(text: string): void {
    const message = JSON.parse(text) as { id?: number; method?: string }
    if (message.method !== undefined) this.notifications.push(message as (typeof this.notifications)[number])
    else if (message.id !== undefined) this.waiting.get(message.id)?.(message as Record<string, unknown>)
  }
}
