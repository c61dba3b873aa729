import { HIGH_WATER_BYTES, LOW_WATER_BYTES } from './carrier.ts'
import type { Fill, MessagePiece } from './message-piece.ts'
import { giveSlab, SLAB_BYTES, takeSlab, type Slab } from './slab.ts'

/** Where the bytes go: a stream of Node, or a socket without one. */
export interface Output {
  /** Queues bytes behind what was written before; `onTaken` is called when the system has them, if it has to wait. */
  write(bytes: Buffer, onTaken?: () => void): unknown
  /** Bytes that the system has not taken yet. */
  readonly writableLength: number
}

/** How messages are told apart in the byte stream. */
export interface Framing {
  /** Bytes in front of a message of this size. */
  headBytes(messageBytes: number): number
  /** Writes them at `offset`. */
  writeHead(target: Buffer, offset: number, messageBytes: number, part: MessagePart): void
  /** Bytes behind it, the same for every message; parts stand directly behind each other. */
  readonly tail: Buffer
}
export type MessagePart = 'whole' | 'first' | 'middle' | 'last'

const NOTHING = Buffer.alloc(0)

/**
 * Puts messages into a byte stream with as little copying as Node allows: a message is written once,
 * into memory that is used over and over, and handed to the stream at the end of the turn.
 */
export class MessageWriter {
  private slab: Slab | undefined
  /** Unflushed bytes of the current slab: [from, at). */
  private from = 0
  private at = 0
  private isFlushScheduled = false
  private isBatching = false
  private isCongestedNow = false
  private isEnded = false
  /** Calls that came while a message in parts is on its way. */
  private held: (() => void)[] | undefined
  private roomWaiters: (() => void)[] = []

  constructor(
    private readonly output: Output,
    private readonly framing: Framing,
    private readonly onDrained: () => void,
  ) {}

  get queuedBytes(): number {
    return this.output.writableLength + (this.at - this.from)
  }
  get isCongested(): boolean {
    return this.isCongestedNow
  }

  sendText(text: string): void {
    if (this.isEnded) return
    if (this.held) {
      this.held.push(() => this.sendText(text))
      return
    }
    const sizeBytes = Buffer.byteLength(text)
    const encoding = sizeBytes === text.length ? 'latin1' : 'utf8'
    const offset = this.begin(sizeBytes, 'whole')
    this.finish(offset + this.bytes.write(text, offset, sizeBytes, encoding), offset + sizeBytes, 'whole')
  }

  sendFilled(sizeBytes: number, fill: Fill): void {
    if (this.isEnded) return
    if (this.held) {
      // What `fill` reads from may be gone when its turn comes.
      const copy = Buffer.allocUnsafe(sizeBytes)
      fill(copy, 0)
      this.held.push(() => this.sendFilled(sizeBytes, (target, offset) => offset + copy.copy(target, offset)))
    } else this.write(sizeBytes, 'whole', fill)
  }

  /**
   * A long message: `pieces`, then `last`. A piece is asked for when there is room for it. Rejects when
   * `pieces` does; the message is then incomplete and the stream of no more use.
   */
  sendParts(pieces: AsyncIterable<MessagePiece>, last: MessagePiece): Promise<void> {
    if (this.isEnded) return Promise.resolve()
    const { held } = this
    if (!held) return this.writeParts(pieces, last)
    return new Promise((resolve) => held.push(() => resolve(this.writeParts(pieces, last))))
  }

  /** Sends bytes that are no message, such as control frames, between two messages or parts. */
  sendControl(bytes: Buffer): void {
    if (this.isEnded) return
    this.flush()
    this.put(bytes, undefined)
  }

  /** Everything sent while `work` runs leaves together when it returns or throws. */
  batch(work: () => void): void {
    this.isBatching = true
    try {
      work()
    } finally {
      this.isBatching = false
      this.flush()
    }
  }

  /** Hands what was collected to the stream now instead of at the end of the turn. */
  flush(): void {
    if (this.at === this.from || !this.slab || this.isEnded) return
    const slab = this.slab
    const bytes = slab.bytes.subarray(this.from, this.at)
    this.from = this.at
    // An idle connection owns no memory.
    if (this.put(bytes, slab)) this.leaveSlab()
  }

  /** Nothing more will be sent; whoever waits goes on. */
  end(): void {
    this.isEnded = true
    this.leaveSlab()
    this.wakeRoom()
  }

  /** Everything else is held from the first line of this on, before anybody can be waited for. */
  private async writeParts(pieces: AsyncIterable<MessagePiece>, last: MessagePiece): Promise<void> {
    this.held = []
    try {
      let part: MessagePart = 'first'
      for await (const { sizeBytes, fill } of pieces) {
        if (this.isEnded) return
        this.write(sizeBytes, part, fill)
        part = 'middle'
        await this.room()
      }
      if (!this.isEnded) this.write(last.sizeBytes, part === 'first' ? 'whole' : 'last', last.fill)
    } finally {
      this.releaseHeld()
    }
  }

  /**
   * Writes; true when the system took it all at once and the memory may be used again. Only otherwise
   * somebody waits for the end of it: an empty write that comes behind.
   */
  private put(bytes: Buffer, slab: Slab | undefined): boolean {
    const { output } = this
    output.write(bytes)
    if (output.writableLength === 0) return true
    if (slab) slab.unsent++
    output.write(NOTHING, () => this.sent(slab))
    if (this.queuedBytes >= HIGH_WATER_BYTES) this.isCongestedNow = true
    return false
  }

  private write(sizeBytes: number, part: MessagePart, fill: Fill): void {
    const offset = this.begin(sizeBytes, part)
    this.finish(fill(this.bytes, offset), offset + sizeBytes, part)
  }

  /** Writes the head of a message; returns where in the slab its `sizeBytes` go. */
  private begin(sizeBytes: number, part: MessagePart): number {
    const { framing } = this
    const headBytes = framing.headBytes(sizeBytes)
    framing.writeHead(this.reserve(headBytes + sizeBytes + framing.tail.length), this.at, sizeBytes, part)
    return this.at + headBytes
  }

  /**
   * The message or part ends at `end`.
   * @throws Error when it was said to end elsewhere: the rest would be bytes of somebody else's messages
   */
  private finish(end: number, expectedEnd: number, part: MessagePart): void {
    if (end !== expectedEnd)
      throw new Error(
        `a message was ${Math.abs(end - expectedEnd)} bytes ${end < expectedEnd ? 'shorter' : 'longer'} than its size said`,
      )
    const { tail } = this.framing
    this.at = end
    if (tail.length > 0 && (part === 'whole' || part === 'last')) this.at += tail.copy(this.bytes, end)
    if (this.at - this.from >= SLAB_BYTES / 2) this.flush()
    else if (!this.isFlushScheduled && !this.isBatching) {
      this.isFlushScheduled = true
      process.nextTick(this.flushScheduled)
    }
  }

  private readonly flushScheduled = (): void => {
    this.isFlushScheduled = false
    this.flush()
  }

  /** The memory of the current slab. */
  private get bytes(): Buffer {
    return (this.slab as Slab).bytes
  }

  /** Makes room for `sizeBytes` at `this.at` and returns the memory. */
  private reserve(sizeBytes: number): Buffer {
    if (this.slab && this.at + sizeBytes <= this.slab.bytes.length) return this.slab.bytes
    this.flush()
    if (this.slab && this.at + sizeBytes > this.slab.bytes.length) this.leaveSlab()
    if (!this.slab) {
      this.slab = takeSlab(sizeBytes)
      this.from = this.at = 0
    }
    return this.slab.bytes
  }

  private leaveSlab(): void {
    const { slab } = this
    this.slab = undefined
    if (slab?.unsent === 0) giveSlab(slab)
  }

  private sent(slab: Slab | undefined): void {
    if (slab && --slab.unsent === 0) {
      if (slab !== this.slab) giveSlab(slab)
      else if (this.at === this.from) this.leaveSlab()
    }
    if (!this.isCongestedNow || this.queuedBytes > LOW_WATER_BYTES) return
    this.isCongestedNow = false
    this.wakeRoom()
    this.onDrained()
  }

  private room(): Promise<void> {
    this.flush()
    if (!this.isCongestedNow || this.isEnded) return Promise.resolve()
    return new Promise((resolve) => this.roomWaiters.push(resolve))
  }

  private wakeRoom(): void {
    for (const waiter of this.roomWaiters.splice(0)) waiter()
  }

  /** Runs what was held, until one of them is again a message in parts. */
  private releaseHeld(): void {
    const waiting = this.held ?? []
    this.held = undefined
    while (waiting.length > 0 && !this.held) waiting.shift()?.()
    if (this.held) (this.held as (() => void)[]).push(...waiting)
  }
}
