import type { Writable } from 'node:stream'
import { HIGH_WATER_BYTES, LOW_WATER_BYTES } from './carrier.ts'

/** How messages are told apart in the byte stream. */
export interface Framing {
  /** Bytes in front of a message of this size. */
  headBytes(messageBytes: number): number
  /** Writes them at `offset`. */
  writeHead(target: Buffer, offset: number, messageBytes: number, part: MessagePart): void
  /** Bytes behind it, the same for every message. */
  readonly tail: Buffer
  /** False: parts are simply written one after the other and only the last has a tail. */
  readonly framesParts: boolean
}
export type MessagePart = 'whole' | 'first' | 'middle' | 'last'

/** Messages of one turn of the event loop share a slab and leave in one system call. */
const SLAB_BYTES = 256 * 1024
/** Slabs kept for the next burst; the rest is left to the garbage collector. */
const SPARE_SLABS = 2

const NOTHING = Buffer.alloc(0)

/** A piece of memory that messages are written into; free again when nobody waits for its bytes. */
interface Slab {
  bytes: Buffer
  /** Writes of it that the operating system has not taken yet. */
  unsent: number
}

/**
 * Puts messages into a byte stream with as little copying as Node allows: a message is written once,
 * into memory that is used over and over, and handed to the stream at the end of the turn.
 */
export class MessageWriter {
  private readonly spare: Slab[] = []
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
    private readonly output: Writable,
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
    this.bytes.write(text, offset, sizeBytes, encoding)
    this.finish(offset + sizeBytes)
  }

  sendFilled(sizeBytes: number, fill: (target: Buffer, offset: number) => void): void {
    if (this.isEnded) return
    if (this.held) {
      // What `fill` reads from may be gone when its turn comes.
      const copy = Buffer.allocUnsafe(sizeBytes)
      fill(copy, 0)
      this.held.push(() => this.sendFilled(sizeBytes, (target, offset) => void copy.copy(target, offset)))
    } else this.write(sizeBytes, 'whole', fill)
  }

  /** Rejects when `parts` does; the message is then incomplete and the stream of no more use. */
  sendParts(parts: AsyncIterable<Buffer>): Promise<void> {
    if (this.isEnded) return Promise.resolve()
    const { held } = this
    if (!held) return this.writeParts(parts)
    return new Promise((resolve) => held.push(() => resolve(this.writeParts(parts))))
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
    if (this.put(bytes, slab)) this.from = this.at = 0
  }

  /** Nothing more will be sent; whoever waits goes on. */
  end(): void {
    this.isEnded = true
    this.wakeRoom()
  }

  /** Everything else is held from the first line of this on, before anybody can be waited for. */
  private async writeParts(parts: AsyncIterable<Buffer>): Promise<void> {
    this.held = []
    try {
      let previous: Buffer | undefined
      let part: MessagePart = 'first'
      for await (const next of parts) {
        if (previous) {
          this.writePart(previous, part)
          part = 'middle'
          await this.room()
          if (this.isEnded) return
        }
        previous = next
      }
      if (previous) this.writePart(previous, part === 'first' ? 'whole' : 'last')
    } finally {
      this.releaseHeld()
    }
  }

  private writePart(bytes: Buffer, part: MessagePart): void {
    if (this.framing.framesParts || part === 'whole')
      this.write(bytes.length, part, (target, offset) => void bytes.copy(target, offset))
    else {
      this.flush()
      this.put(bytes, undefined)
      if (part === 'last') this.put(this.framing.tail, undefined)
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

  private write(sizeBytes: number, part: MessagePart, fill: (target: Buffer, offset: number) => void): void {
    const offset = this.begin(sizeBytes, part)
    fill(this.bytes, offset)
    this.finish(offset + sizeBytes)
  }

  /** Writes the head of a message; returns where in the slab its `sizeBytes` go. */
  private begin(sizeBytes: number, part: MessagePart): number {
    const { framing } = this
    const headBytes = framing.headBytes(sizeBytes)
    framing.writeHead(this.reserve(headBytes + sizeBytes + framing.tail.length), this.at, sizeBytes, part)
    return this.at + headBytes
  }

  /** The message ends at `end`. */
  private finish(end: number): void {
    const { tail } = this.framing
    this.at = end + tail.length
    if (tail.length > 0) tail.copy(this.bytes, end)
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
    if (this.slab && this.at + sizeBytes > this.slab.bytes.length) this.slab = undefined
    if (!this.slab) {
      this.slab = sizeBytes <= SLAB_BYTES ? (this.spare.pop() ?? newSlab(SLAB_BYTES)) : newSlab(sizeBytes)
      this.from = this.at = 0
    }
    return this.slab.bytes
  }

  private sent(slab: Slab | undefined): void {
    if (slab && --slab.unsent === 0 && slab !== this.slab) this.spareSlab(slab)
    if (!this.isCongestedNow || this.queuedBytes > LOW_WATER_BYTES) return
    this.isCongestedNow = false
    this.wakeRoom()
    this.onDrained()
  }

  private spareSlab(slab: Slab): void {
    if (slab.bytes.length === SLAB_BYTES && this.spare.length < SPARE_SLABS) this.spare.push(slab)
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

function newSlab(sizeBytes: number): Slab {
  return { bytes: Buffer.allocUnsafeSlow(sizeBytes), unsent: 0 }
}
