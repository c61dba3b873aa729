import { Worker } from 'node:worker_threads'
import {
  BELL,
  FD,
  IDLE,
  OFFERED,
  READING,
  RING_BYTES,
  STARTING,
  STATE,
  STOPPING,
  TAKEN,
  WORDS,
  WRITTEN,
} from './flood-thread-script.ts'

/** What the thread itself needs: text of its own and errors that are soon garbage. */
const YOUNG_MEMORY_MB = 1

/**
 * A thread that reads a descriptor into memory that both sides have, and that memory. It keeps no process
 * alive. One life: whoever is told that it was lost needs another.
 */
export class FloodThread {
  private readonly words = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT))
  private readonly ring = Buffer.from(new SharedArrayBuffer(RING_BYTES))
  private readonly worker: Worker

  /** @throws an error when the system gives no thread; later failures are told by `onLost` */
  constructor(script: string, onLost: () => void) {
    this.worker = new Worker(script, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEMORY_MB },
      workerData: { words: this.words, ring: this.ring },
    })
    this.worker.unref()
    // Its end tells it, too.
    this.worker.on('error', () => {})
    this.worker.once('exit', () => {
      Atomics.store(this.words, STATE, IDLE)
      onLost()
    })
  }

  /** It has begun to run. */
  get isReady(): boolean {
    return Atomics.load(this.words, STATE) !== STARTING
  }
  /** It has stopped and does not touch the descriptor any more. */
  get isIdle(): boolean {
    return Atomics.load(this.words, STATE) === IDLE
  }

  /** Reads until there is nothing for a moment, or until it is to stop. Only when it is idle and all is taken. */
  read(fd: number): void {
    Atomics.store(this.words, FD, fd)
    Atomics.store(this.words, STATE, READING)
    Atomics.notify(this.words, STATE)
  }

  /** It stops after the read that it is in. */
  askToStop(): void {
    Atomics.compareExchange(this.words, STATE, READING, STOPPING)
    this.call()
  }

  /** Waits until it has stopped, at most so long. */
  waitUntilIdle(limitMs: number): boolean {
    Atomics.wait(this.words, STATE, STOPPING, limitMs)
    return this.isIdle
  }

  /**
   * Hands over what is offered now, or everything when it is idle, in pieces that are valid during the call.
   * Returns the number of bytes, which is less than RING_BYTES.
   */
  take(onBytes: (bytes: Buffer) => void): number {
    const end = Atomics.load(this.words, this.isIdle ? WRITTEN : OFFERED)
    let bytes = 0
    for (let at = Atomics.load(this.words, TAKEN); at !== end;) {
      const to = at < end ? end : RING_BYTES
      onBytes(this.ring.subarray(at, to))
      bytes += to - at
      at = to % RING_BYTES
      Atomics.store(this.words, TAKEN, at)
      this.call()
    }
    return bytes
  }

  /** Ends the thread. What it reads at that moment may be lost. */
  end(): void {
    void this.worker.terminate()
  }

  private call(): void {
    Atomics.add(this.words, BELL, 1)
    Atomics.notify(this.words, BELL)
  }
}
