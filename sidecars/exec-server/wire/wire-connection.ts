import { randomUUID } from 'node:crypto'
import { DecodeError } from '../../protocol/decode.ts'
import { MalformedMessage } from '../../rpc/json-rpc.ts'
import { dropped } from '../streams/large-garbage.ts'
import { base64Length, Base64Text } from './base64-text.ts'
import { BulkResult, writeBase64 } from './bulk-result.ts'
import type { Carrier } from './carrier.ts'
import { formatError, formatResult, parseWireMessage, type BulkMember, type IncomingMessage } from './envelope.ts'
import type { Method, MethodTable } from './method-table.ts'
import type { Fill, MessagePiece } from './message-piece.ts'
import { giveMessageMemory, LARGE_MESSAGE_BYTES } from './message-memory.ts'
import { RequestsToClient } from './requests-to-client.ts'
import { WireError } from './wire-error.ts'
import { WrittenResult } from './written-result.ts'

/** Who is on the other end, as far as we know. */
export type ConnectionIdentity =
  /** One of our own programs, through the private socket: it names the session it acts for. */
  | { kind: 'internal'; name: string }
  /** An outside agent; the connection is a session of its own. */
  | { kind: 'agent'; via: string; address: string }

export interface Disposable {
  dispose(): void
}

/** What happens to `initialize` and `initialized`, and whether other methods may run yet. */
export interface HandshakeState {
  /** Answers `initialize`. */
  initialize(params: unknown, connection: WireConnection): unknown
  /** False: the client may not send it now, and is dropped. */
  initialized(): boolean
  /** @throws WireError while the handshake is not done */
  requireReady(method: Method): void
}

/**
 * While this much is waiting to leave, no further requests are read: a client that asks without
 * listening cannot make us grow.
 */
const PAUSE_READING_BYTES = 8 * 1024 * 1024
/** A longer answer leaves in parts: a client takes no frame above 16 MiB. */
const WHOLE_MESSAGE_BYTES = 8 * 1024 * 1024
/**
 * Content bytes per part: as base64 it fills one slab of a writer. Divisible by 3, so that parts of base64
 * can be joined.
 */
const PART_BYTES = 180 * 1024
const CLOSING_BRACE = 0x7d

/**
 * One client. Reads requests off a carrier, runs them, and sends answers and notifications. Things that
 * live as long as the connection (file handles, watches, streams) are given to it with `own` or
 * `resource` and are disposed when it ends, latest first.
 */
export class WireConnection {
  readonly id = randomUUID()
  readonly requests: RequestsToClient
  private readonly lifetime = new AbortController()
  private readonly owned = new Set<Disposable>()
  private readonly resources = new Map<object, Disposable>()
  private readonly drainWaiters: (() => void)[] = []
  private isReadingPaused = false

  constructor(
    readonly carrier: Carrier,
    readonly identity: ConnectionIdentity,
    private readonly methods: MethodTable,
    private readonly handshake: HandshakeState,
    private readonly log: (line: string) => void,
  ) {
    this.requests = new RequestsToClient((text) => carrier.sendText(text))
  }

  get label(): string {
    return this.carrier.label
  }
  /** Fires when the connection has ended: long polls, transfers and questions to the client stop. */
  get signal(): AbortSignal {
    return this.lifetime.signal
  }
  get isClosed(): boolean {
    return this.lifetime.signal.aborted
  }
  /** True while the client takes less than we have to send; bulk senders wait for {@link drained}. */
  get isCongested(): boolean {
    return this.carrier.isCongested
  }

  start(): void {
    this.carrier.start({
      onMessage: (bytes) => this.receive(bytes),
      onProblem: (problem) => this.answerMalformed(problem),
      onDrained: () => this.onDrained(),
      onClose: (reason) => this.end(reason),
    })
  }

  /** Sends a notification; false means: wait for {@link drained} before sending more in bulk. */
  notify(method: string, params: unknown): boolean {
    if (this.isClosed) return true
    this.carrier.sendText(`{"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`)
    return !this.isCongested
  }

  /** Resolves when the queue has room again or the connection has ended. */
  drained(): Promise<void> {
    if (this.isClosed || !this.isCongested) return Promise.resolve()
    return new Promise((resolve) => this.drainWaiters.push(resolve))
  }

  /** Disposes `thing` when the connection ends, at once when it has. Returns what lets go of it earlier. */
  own(thing: Disposable): () => void {
    if (this.isClosed) thing.dispose()
    else this.owned.add(thing)
    return () => this.owned.delete(thing)
  }

  /** The connection's one instance of something, made when first asked for. `key` is any object. */
  resource<T extends Disposable>(key: object, create: (connection: WireConnection) => T): T {
    const existing = this.resources.get(key)
    if (existing) return existing as T
    const made = create(this)
    this.resources.set(key, made)
    this.own(made)
    return made
  }

  /** Drops the connection; the wire knows no goodbye. */
  close(reason: string): void {
    this.carrier.close(reason)
  }

  private receive(bytes: Buffer): void {
    let message: IncomingMessage
    try {
      message = parseWireMessage(bytes, this.methods.bulkMarks)
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error
      this.answerMalformed(error.message)
      return
    }
    if (message.kind === 'request') {
      const answered = this.receiveRequest(message.idText, message.method, message.params, message.bulk)
      if (bytes.length >= LARGE_MESSAGE_BYTES)
        void Promise.resolve(answered).then(() => this.letGo(bytes, this.methods.find(message.method)))
    } else if (message.kind === 'notification') this.receiveNotification(message.method)
    else if (!this.requests.settle(message.idText, message.outcome))
      this.close(`the client answered a request that was not made (id ${message.idText.slice(0, 60)})`)
  }

  /** The request in `bytes` has been answered. */
  private letGo(bytes: Buffer, method: Method | undefined): void {
    if (method?.isBulkOverWithAnswer) giveMessageMemory(bytes)
    else dropped(bytes.length)
  }

  /** A promise while the answer takes time. */
  private receiveRequest(
    idText: string,
    name: string,
    params: unknown,
    bulk: BulkMember | undefined,
  ): Promise<void> | undefined {
    try {
      const outcome = this.call(name, params, bulk)
      if (outcome instanceof Promise)
        return outcome.then(
          (result) => this.answer(idText, result),
          (error: unknown) => this.answerError(idText, name, error),
        )
      this.answer(idText, outcome)
    } catch (error) {
      this.answerError(idText, name, error)
    }
    return undefined
  }

  private call(name: string, params: unknown, bulk: BulkMember | undefined): unknown {
    if (name === 'initialize') return this.handshake.initialize(params, this)
    const method = this.methods.find(name)
    if (!method) throw new WireError('methodNotFound', `exec-server stub does not implement \`${name}\` yet`)
    const decoded = method.params(params, 'params')
    this.handshake.requireReady(method)
    return method.handle(decoded, this, bulkOf(method, decoded, bulk))
  }

  private receiveNotification(name: string): void {
    if (name !== 'initialized') return this.close(`unexpected notification ${JSON.stringify(name.slice(0, 60))}`)
    if (!this.handshake.initialized()) this.close('initialized came before a successful initialize')
  }

  private answer(idText: string, result: unknown): void {
    if (this.isClosed) return
    if (result instanceof BulkResult) this.answerInBulk(idText, result)
    else if (result instanceof WrittenResult) this.answerWritten(idText, result)
    else this.carrier.sendText(formatResult(idText, JSON.stringify(result ?? {})))
    this.holdBackWhenFlooded()
  }

  private answerInBulk(idText: string, result: BulkResult): void {
    const head = Buffer.from(`{"id":${idText},"result":${result.before}`)
    const tail = Buffer.from(`${result.after}}`)
    const { content } = result
    if (Buffer.isBuffer(content) && base64Length(content.length) <= WHOLE_MESSAGE_BYTES) {
      this.carrier.sendFilled(head.length + base64Length(content.length) + tail.length, (target, offset) => {
        const body = offset + head.copy(target, offset)
        const end = writeBase64(target, body, content)
        return end + tail.copy(target, end)
      })
      dropped(content.length)
    } else void this.carrier.sendParts(encodedPieces(head, content), pieceOf(tail))
  }

  private answerWritten(idText: string, { sizeBytes, write }: WrittenResult): void {
    const head = `{"id":${idText},"result":`
    // An id is JSON text, so anything beyond ASCII in it takes more bytes than characters.
    const headBytes = Buffer.byteLength(head)
    const fill: Fill = (target, offset) => {
      const end = write(target, offset + target.write(head, offset, headBytes, 'utf8'))
      target[end] = CLOSING_BRACE
      return end + 1
    }
    const totalBytes = headBytes + sizeBytes + 1
    if (totalBytes <= WHOLE_MESSAGE_BYTES) return this.carrier.sendFilled(totalBytes, fill)
    const whole = Buffer.allocUnsafeSlow(totalBytes)
    fill(whole, 0)
    void this.carrier.sendParts(plainPieces(whole), pieceOf(NO_BYTES))
  }

  private answerError(idText: string, name: string, error: unknown): void {
    if (this.isClosed) return
    if (error instanceof WireError)
      this.carrier.sendText(formatError(idText, { code: error.wireCode, message: error.message, data: error.data }))
    else if (error instanceof DecodeError) this.answerError(idText, name, new WireError('invalidParams', error.message))
    else {
      const message = error instanceof Error ? error.message : String(error)
      this.log(`${this.label}: ${name} failed: ${error instanceof Error ? (error.stack ?? message) : message}`)
      this.answerError(idText, name, new WireError('internal', message))
    }
  }

  private answerMalformed(reason: string): void {
    const message = `failed to parse ${this.carrier.kind} from exec-server ${this.label}: ${reason}`
    this.carrier.sendText(formatError('-1', { code: -32600, message }))
    this.holdBackWhenFlooded()
  }

  private holdBackWhenFlooded(): void {
    if (this.isReadingPaused || this.carrier.queuedBytes < PAUSE_READING_BYTES) return
    this.isReadingPaused = true
    this.carrier.pause()
  }

  private onDrained(): void {
    for (const waiter of this.drainWaiters.splice(0)) waiter()
    if (!this.isReadingPaused) return
    this.isReadingPaused = false
    this.carrier.resume()
  }

  private end(reason: string): void {
    this.requests.failAll(reason)
    this.lifetime.abort()
    const things = [...this.owned]
    for (let thing = things.pop(); thing; thing = things.pop()) thing.dispose()
    this.owned.clear()
    this.resources.clear()
    for (const waiter of this.drainWaiters.splice(0)) waiter()
  }
}

/** What a method that takes bulk gets: the bytes in place, or the short string of params. */
function bulkOf(method: Method, params: unknown, bulk: BulkMember | undefined): Base64Text {
  if (method.bulkMember === undefined) return NO_BULK
  if (bulk && bulk.name === method.bulkMember) return new Base64Text(bulk.text)
  const text = (params as Record<string, unknown>)[method.bulkMember]
  return typeof text === 'string' ? new Base64Text(text) : NO_BULK
}
const NO_BULK = new Base64Text('')

/** `head`, then the content as base64. */
async function* encodedPieces(head: Buffer, content: Buffer | AsyncIterable<Buffer>): AsyncGenerator<MessagePiece> {
  yield pieceOf(head)
  for await (const block of Buffer.isBuffer(content) ? [content] : content)
    for (let from = 0; from < block.length; from += PART_BYTES) {
      const slice = block.subarray(from, from + PART_BYTES)
      yield { sizeBytes: base64Length(slice.length), fill: (target, offset) => writeBase64(target, offset, slice) }
    }
}

async function* plainPieces(bytes: Buffer): AsyncGenerator<MessagePiece> {
  for (let from = 0; from < bytes.length; from += PART_BYTES) yield pieceOf(bytes.subarray(from, from + PART_BYTES))
}

function pieceOf(bytes: Buffer): MessagePiece {
  return { sizeBytes: bytes.length, fill: (target, offset) => offset + bytes.copy(target, offset) }
}
const NO_BYTES = Buffer.alloc(0)
