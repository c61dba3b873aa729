import { closeSync, constants, openSync, readSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import { readIntoOptions } from '../streams/read-into.ts'
import type { Flood } from './flood.ts'
import type { FloodReader } from './flood-reader.ts'
import { READ_BYTES, type FloodWatch } from './flood-watch.ts'
import { BLOCK_BYTES } from './output-block.ts'
import { OutputJoiner, type OutputReceiver } from './output-joiner.ts'

/** A read below this says that nothing is waiting behind it. */
const SHORT_READ_BYTES = 2 * 1024
/**
 * Reads are joined, and so much is handed on at once. A whole block would be fewer messages, but a client that takes one in leaves the
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
 *
 * So there are three who read, and never two of them at once: libuv, a thread while there is a flood (see
 * {@link FloodReader}), and this class after the child's end. {@link PtyOutput.goOn} says whose turn it is.
 */
export class PtyOutput {
  private readonly stream: ReadStream
  private readonly joiner: OutputJoiner
  private slave: number | undefined
  private readonly floodWatch: FloodWatch
  private flood: Flood | undefined
  private checkedBytes = 0
  private sinceMs = 0
  private isFlushScheduled = false
  private isPaused = false
  private isDraining = false
  private isInDrain = false
  private isOver = false
  private poll: NodeJS.Timeout | undefined
  private pollMs = POLL_MIN_MS

  constructor(
    private readonly fd: number,
    slavePath: string,
    private readonly floods: FloodReader,
    private readonly events: { onOutput: OutputReceiver; onEnd(): void },
  ) {
    this.slave = openSync(slavePath, constants.O_RDWR | constants.O_NOCTTY)
    this.joiner = new OutputJoiner(events.onOutput)
    this.floodWatch = floods.watch()
    const options = readIntoOptions({
      buffer: () => this.joiner.room(READ_BYTES),
      onRead: (bytesRead) => this.received(bytesRead),
    })
    this.stream = new ReadStream(fd, options)
    this.stream.on('error', () => {
      if (this.isDraining) this.goOn()
    })
    this.stream.resume()
  }

  /** A descriptor of the slave side, for asking about its settings; undefined after the child's end. */
  get slaveFd(): number | undefined {
    return this.slave
  }

  /** Reads nothing more. What has been read is handed on all the same: in a flood up to a quarter of a MiB. */
  pause(): void {
    if (this.isPaused) return
    this.isPaused = true
    this.stream.pause()
    this.flood?.stop()
    clearTimeout(this.poll)
    this.poll = undefined
  }
  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.goOn()
  }

  /** The child has ended: reads what is left, and on while others hold the terminal. */
  childEnded(): void {
    if (this.isOver) return
    this.joiner.flush()
    this.stream.pause()
    this.closeSlave()
    this.isDraining = true
    this.flood?.finish()
    this.goOn()
  }

  dispose(): void {
    this.isOver = true
    clearTimeout(this.poll)
    this.closeSlave()
    this.flood?.finish()
    this.goOn()
  }

  /** Has it read, or closed, by whoever is to do it now. Nothing during a flood, whose end leads here. */
  private goOn(): void {
    if (this.flood) return
    if (this.isOver) this.stream.destroy()
    else if (this.isPaused) return
    else if (this.isDraining) this.drain()
    else this.stream.resume()
  }

  private received(bytesRead: number): boolean {
    const { joiner } = this
    if (joiner.waitingBytes === 0) this.sinceMs = performance.now()
    joiner.filled(bytesRead)
    const threadShare = this.floodWatch.threadShare(bytesRead)
    // A short read has emptied the terminal: what a person typed comes back without delay.
    if (threadShare > 0 || bytesRead < SHORT_READ_BYTES || joiner.waitingBytes >= ENOUGH_BYTES) joiner.flush()
    else if (!this.isFlushScheduled) {
      this.isFlushScheduled = true
      setImmediate(this.flushWhenQuiet)
    }
    if (threadShare > 0) this.beginFlood(threadShare)
    return !this.isPaused && !this.flood
  }

  /** Lets the thread read so much, if it can be had. Nothing that was read before may be waiting here. */
  private beginFlood(shareBytes: number): void {
    if (this.isPaused || this.isOver) return
    // Its own: the other one has the place of libuv's next read, which is fixed already.
    let joiner: OutputJoiner | undefined
    this.flood = this.floods.begin(this.fd, shareBytes, {
      onBytes: (bytes) => this.handOn(bytes, (joiner ??= new OutputJoiner(this.events.onOutput))),
      onOver: () => {
        joiner?.dispose()
        this.flood = undefined
        this.goOn()
      },
    })
    // Beside the answer to this read: a resume() of the same turn would have it read on in the next tick.
    if (this.flood) this.stream.pause()
  }

  private handOn(bytes: Buffer, joiner: OutputJoiner): void {
    for (let at = 0; at < bytes.length && !this.isOver;) {
      const copied = bytes.copy(joiner.room(Math.min(bytes.length - at, BLOCK_BYTES)), 0, at)
      joiner.filled(copied)
      joiner.flush()
      at += copied
    }
  }

  /** Waits for one turn of the event loop in which nothing more came. */
  private readonly flushWhenQuiet = (): void => {
    this.isFlushScheduled = false
    const { waitingBytes } = this.joiner
    if (waitingBytes === 0 || this.isOver) return
    if (waitingBytes !== this.checkedBytes && performance.now() - this.sinceMs < JOIN_MS) {
      this.checkedBytes = waitingBytes
      this.isFlushScheduled = true
      setImmediate(this.flushWhenQuiet)
    } else this.joiner.flush()
  }

  private drain(): void {
    // From within what it hands on: it goes on by itself.
    if (this.isInDrain) return
    clearTimeout(this.poll)
    this.isInDrain = true
    const againMs = this.readRest()
    this.isInDrain = false
    // Referenced on purpose: output of a child's child is waited for like any other.
    if (!this.isPaused && !this.isOver) this.poll = setTimeout(() => this.goOn(), againMs)
  }

  /** Reads what is left now; returns when to look again. */
  private readRest(): number {
    for (let bytes = 0; ;) {
      const room = this.joiner.room(READ_BYTES)
      // Somebody who prints without end must not keep everybody else waiting.
      const bytesRead = this.isPaused || this.isOver || bytes >= TURN_BYTES ? 'enough' : readNow(this.fd, room)
      if (typeof bytesRead === 'number') {
        this.joiner.filled(bytesRead)
        bytes += bytesRead
        continue
      }
      const isFresh = this.joiner.waitingBytes > 0
      this.joiner.flush()
      if (bytesRead === 'enough') return 0
      if (bytesRead === 'over') {
        this.dispose()
        this.events.onEnd()
        return 0
      }
      this.pollMs = isFresh ? POLL_MIN_MS : Math.min(POLL_MAX_MS, this.pollMs * 2)
      return this.pollMs
    }
  }

  private closeSlave(): void {
    if (this.slave !== undefined) closeSync(this.slave)
    this.slave = undefined
  }
}

function readNow(fd: number, room: Buffer): number | 'over' | 'nothing now' {
  try {
    return readSync(fd, room, 0, room.length, null) || 'over'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'nothing now' : 'over'
  }
}
