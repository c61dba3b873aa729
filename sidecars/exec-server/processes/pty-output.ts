import { closeSync, constants, openSync, readSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import { readIntoOptions } from '../streams/read-into.ts'
import { BLOCK_BYTES, COPY_BELOW_BYTES, OutputBlock } from './output-block.ts'

/**
 * What one read of a terminal gives at most (N_TTY_BUF_SIZE - 1); reads are joined until they are enough. A read
 * that fills its room is followed by the next at once, and that one waits in the system for what is on its way,
 * where asking for readiness first would be a second call and a later start.
 */
const READ_BYTES = 4_095
/** A read below this says that nothing is waiting behind it. */
const SHORT_READ_BYTES = 2 * 1024
/**
 * So much is handed on at once. A whole block would be fewer messages, but a client that takes one in leaves the
 * terminal no processor for that long, on a machine of two: a third less per second.
 */
const ENOUGH_BYTES = 32 * 1024
/** Joining never delays output longer than this. */
const JOIN_MS = 4
/** Most that is read directly in one turn of the event loop. */
const TURN_BYTES = 256 * 1024
/** After the child's end, how often a terminal that somebody else holds open is looked at. */
const POLL_MIN_MS = 5
const POLL_MAX_MS = 100

/**
 * Reads the master side of a terminal to its very last byte.
 *
 * libuv declares the end of a stream when it sees the hang-up after a short read, and reads of a
 * terminal are always short. So while the child lives, the slave side is held open here as well and no
 * hang-up can come; when the child has ended, the slave is closed and the rest is read directly until
 * the system says EIO, which it does only when nothing is left and nobody can write any more.
 */
export class PtyOutput {
  private readonly stream: ReadStream
  private slave: number | undefined
  /** Read and not handed on: [from, to) of the block. The next read goes to `to`. */
  private block = new OutputBlock()
  private from = 0
  private to = 0
  /** Somebody keeps a part of the block: it cannot be filled again from the start. */
  private isShared = false
  private checkedTo = 0
  private sinceMs = 0
  private isFlushScheduled = false
  private isPaused = false
  private isDraining = false
  private isOver = false
  private poll: NodeJS.Timeout | undefined
  private pollMs = POLL_MIN_MS

  constructor(
    private readonly fd: number,
    slavePath: string,
    private readonly onOutput: (bytes: Buffer, block: OutputBlock | undefined) => void,
    private readonly onEnd: () => void,
  ) {
    this.slave = openSync(slavePath, constants.O_RDWR | constants.O_NOCTTY)
    const options = readIntoOptions({
      buffer: () => this.room(),
      onRead: (bytesRead) => this.received(bytesRead),
    })
    this.stream = new ReadStream(fd, options)
    this.stream.on('error', () => this.drain())
    this.stream.resume()
  }

  /** A descriptor of the slave side, for asking about its settings; undefined after the child's end. */
  get slaveFd(): number | undefined {
    return this.slave
  }

  pause(): void {
    if (this.isPaused) return
    this.isPaused = true
    this.stream.pause()
    clearTimeout(this.poll)
    this.poll = undefined
  }
  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    if (this.isDraining) this.drain()
    else if (!this.isOver) this.stream.resume()
  }

  /** The child has ended: reads what is left, and on while others hold the terminal. */
  childEnded(): void {
    this.flush()
    this.stream.pause()
    this.closeSlave()
    this.isDraining = true
    this.drain()
  }

  dispose(): void {
    this.isOver = true
    this.isDraining = false
    clearTimeout(this.poll)
    this.closeSlave()
    this.stream.destroy()
  }

  /** Where the next read goes. Node asks for it once per read, before the read. */
  private room(): Buffer {
    if (this.from === this.to && !this.isShared) this.from = this.to = 0
    if (BLOCK_BYTES - this.to < READ_BYTES) {
      this.flush()
      this.block.release()
      this.block = new OutputBlock()
      this.isShared = false
      this.from = this.to = 0
    }
    return this.block.bytes.subarray(this.to, this.to + READ_BYTES)
  }

  private received(bytesRead: number): boolean {
    if (this.from === this.to) this.sinceMs = performance.now()
    this.to += bytesRead
    // A short read has emptied the terminal: what a person typed comes back without delay.
    if (bytesRead < SHORT_READ_BYTES || this.to - this.from >= ENOUGH_BYTES) this.flush()
    else if (!this.isFlushScheduled) {
      this.isFlushScheduled = true
      setImmediate(this.flushWhenQuiet)
    }
    return !this.isPaused
  }

  /** Waits for one turn of the event loop in which nothing more came. */
  private readonly flushWhenQuiet = (): void => {
    this.isFlushScheduled = false
    if (this.to === this.from) return
    if (this.to !== this.checkedTo && performance.now() - this.sinceMs < JOIN_MS) {
      this.checkedTo = this.to
      this.isFlushScheduled = true
      setImmediate(this.flushWhenQuiet)
    } else this.flush()
  }

  private flush(): void {
    const { block, from, to } = this
    if (from === to) return
    this.from = to
    const bytes = block.bytes.subarray(from, to)
    if (bytes.length < COPY_BELOW_BYTES) this.onOutput(Buffer.from(bytes), undefined)
    else {
      this.isShared = true
      this.onOutput(bytes, block.retain())
    }
  }

  private drain(): void {
    if (!this.isDraining || this.isOver) return
    clearTimeout(this.poll)
    for (let bytes = 0; !this.isPaused;) {
      // Somebody who prints without end must not keep everybody else waiting.
      if (bytes >= TURN_BYTES) {
        this.poll = setTimeout(() => this.drain(), 0)
        break
      }
      const bytesRead = this.readNow()
      if (bytesRead === 'over') {
        this.flush()
        this.dispose()
        this.onEnd()
        return
      }
      if (bytesRead === 'nothing now') {
        this.pollMs = this.to > this.from ? POLL_MIN_MS : Math.min(POLL_MAX_MS, this.pollMs * 2)
        this.flush()
        // Referenced on purpose: output of a child's child is waited for like any other.
        this.poll = setTimeout(() => this.drain(), this.pollMs)
        return
      }
      this.to += bytesRead
      bytes += bytesRead
    }
    this.flush()
  }

  private readNow(): number | 'over' | 'nothing now' {
    const room = this.room()
    try {
      return readSync(this.fd, room, 0, room.length, null) || 'over'
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'nothing now' : 'over'
    }
  }

  private closeSlave(): void {
    if (this.slave !== undefined) closeSync(this.slave)
    this.slave = undefined
  }
}
