/**
 * Reads of one connection into memory that is used again: the stock stream takes 64 KiB of new memory for every
 * read, which is most of what a forwarder in Node pays for its bytes.
 */
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { sharedBuffer, type ReadTarget } from '../../tcp/tcp-socket.ts'

/**
 * How long bytes that were read are valid. `shared`: during the call only. `lent`: until the reader is resumed, when
 * it was paused during the call. `owned`: for good.
 */
export type Ownership = 'shared' | 'lent' | 'owned'

/** Where bytes come from, for those who pass them on. */
export interface ByteSource {
  /** Of the bytes of this call. */
  readonly ownership: Ownership
  pause(): void
  resume(): void
}

/** Lent to one connection while it moves bulk data, so that nothing is copied. */
const BULK_BYTES = 512 * 1024
/** A read of this size and more means bulk data. */
const BULK_THRESHOLD_BYTES = 32 * 1024
const MAX_FREE_BULK_BUFFERS = 8
/**
 * After so many bytes everybody else has a turn. The event loop alone would go on with one connection for 32 reads,
 * which with buffers for bulk data are more than ten milliseconds.
 */
const TURN_BYTES = 512 * 1024

const freeBulkBuffers: Buffer[] = []

export class BulkReader implements ByteSource, ReadTarget {
  /** What is read; to be set before the first byte comes. */
  socket!: ByteSocket
  private memory: Buffer = sharedBuffer
  private wantsBulk = false
  private paused = false
  private reading = false
  private turnBytes = 0
  /** Others have their turn. */
  private resting = false
  private released = false

  constructor(private readonly onBytes: (bytes: Buffer) => void) {}

  get ownership(): Ownership {
    return this.memory === sharedBuffer ? 'shared' : 'lent'
  }

  pause(): void {
    this.paused = true
    // During a read its return value stops the reading.
    if (!this.reading) this.socket.pause()
  }

  resume(): void {
    this.paused = false
    if (!this.resting) this.socket.resume()
  }

  private readonly goOn = (): void => {
    this.resting = false
    if (!this.paused && !this.released && !this.socket.destroyed) this.socket.resume()
  }

  /**
   * Reads on for somebody else: what is lent stays with those who have it. Only during a call of `onBytes`, whose
   * memory the next read does not use.
   */
  startOver(): void {
    if (this.paused) {
      this.memory = sharedBuffer
      this.wantsBulk = false
    }
    this.resume()
  }

  /** Lets go of the socket: somebody else decides when it is read. */
  release(): void {
    this.released = true
  }

  /** To be called when the connection is gone. */
  closed(): void {
    // Paused means the kernel may still be sending from the buffer: then it must not serve anybody else.
    if (!this.paused) this.returnBulkBuffer()
  }

  /** What was read before has been dealt with by now, or the reading is paused. */
  readonly buffer = (): Buffer => {
    if (this.paused || this.wantsBulk === (this.memory !== sharedBuffer)) return this.memory
    if (this.wantsBulk) this.memory = freeBulkBuffers.pop() ?? Buffer.allocUnsafeSlow(BULK_BYTES)
    else this.returnBulkBuffer()
    return this.memory
  }

  readonly callback = (sizeBytes: number, buffer: Uint8Array): boolean => {
    this.wantsBulk = sizeBytes >= BULK_THRESHOLD_BYTES
    this.reading = true
    this.onBytes((buffer as Buffer).subarray(0, sizeBytes))
    this.reading = false
    if (this.released) return true
    this.turnBytes += sizeBytes
    if (this.turnBytes < TURN_BYTES) return !this.paused
    this.turnBytes = 0
    this.resting = true
    setImmediate(this.goOn)
    return false
  }

  private returnBulkBuffer(): void {
    if (this.memory === sharedBuffer) return
    if (freeBulkBuffers.length < MAX_FREE_BULK_BUFFERS) freeBulkBuffers.push(this.memory)
    this.memory = sharedBuffer
  }
}

/**
 * Passes bytes of `from` on to `to` and holds `from` back while `to` is behind. `onTaken` must be the same function
 * each time; it has to call `resumeWhenTaken`.
 */
export function forwardBytes(from: ByteSource, to: ByteSocket, bytes: Buffer, onTaken: () => void): void {
  const { ownership } = from
  to.write(ownership === 'shared' ? Buffer.from(bytes) : bytes, onTaken)
  // Lent memory must not be read into again before the kernel has all of it.
  if (ownership === 'owned' ? isBehind(to) : to.writableLength > 0) from.pause()
}

/**
 * True when `to` has more queued than its high-water mark. `writableNeedDrain` alone also says so for a
 * large write that the kernel took at once.
 */
export function isBehind(to: ByteSocket): boolean {
  return to.writableLength > 0 && to.writableNeedDrain
}

/** The other half of `forwardBytes`. */
export function resumeWhenTaken(from: ByteSource, to: ByteSocket): void {
  if (to.writableLength === 0) from.resume()
}
