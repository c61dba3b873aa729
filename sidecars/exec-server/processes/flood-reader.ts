import { availableParallelism } from 'node:os'
import { Flood, type FloodEvents } from './flood.ts'
import { FloodWatch } from './flood-watch.ts'
import { FLOOD_THREAD_SCRIPT } from './flood-thread-script.ts'
import { FloodThread } from './flood-thread.ts'

/** Without floods for so long, the thread and its memory are given back. */
const IDLE_MS = 10_000

/**
 * Whether floods can be read here: a master has to say at once that there is nothing, and the thread needs a
 * processor that the server does not use.
 */
export const CAN_READ_FLOODS = process.platform === 'linux' && availableParallelism() > 1

/** What tests need to be otherwise. */
export interface FloodOptions {
  /** What the thread runs. */
  script?: string
  /** Without floods for so long the thread is ended. */
  idleMs?: number
  /** The part of the reads of a flood that must have waited. */
  minWaitingShare?: number
}

/**
 * Reads floods of terminals in a thread, one terminal at a time. A terminal gives 4 KiB at a time, and each read
 * waits in the system for what is on its way; meanwhile the server can encode and send what was read before.
 *
 * The thread is there from the first flood until there was none for a while. Without it everything is read as if
 * there were no floods: where it cannot be had, and after it was lost, which nobody should do to it.
 */
export class FloodReader {
  private thread: FloodThread | undefined
  private flood: Flood | undefined
  private idle: NodeJS.Timeout | undefined
  private isUnable = !CAN_READ_FLOODS

  constructor(private readonly options: FloodOptions = {}) {}

  /** What tells one terminal when to ask. */
  watch(): FloodWatch {
    return new FloodWatch(this.options.minWaitingShare)
  }

  /**
   * Reads about so much of the master of a terminal, or until nothing comes; until its `onOver` nobody else may read or
   * close it. Undefined when the thread is not to be had now; then nothing has happened, and the caller reads on and
   * may ask again.
   */
  begin(fd: number, shareBytes: number, events: FloodEvents): Flood | undefined {
    if (this.isUnable || this.flood) return undefined
    this.thread ??= this.startThread()
    this.endWhenIdle()
    if (!this.thread?.isReady) return undefined
    clearTimeout(this.idle)
    this.flood = new Flood(
      this.thread,
      { fd, shareBytes },
      {
        onBytes: (bytes) => events.onBytes(bytes),
        onOver: () => {
          this.flood = undefined
          this.endWhenIdle()
          events.onOver()
        },
      },
    )
    return this.flood
  }

  /** Ends the thread. A flood is read on as if there were none. */
  dispose(): void {
    this.isUnable = true
    this.flood?.finish()
    this.endThread()
  }

  private startThread(): FloodThread | undefined {
    try {
      const thread = new FloodThread(this.options.script ?? FLOOD_THREAD_SCRIPT, () => {
        if (this.thread !== thread) return
        this.isUnable = true
        this.endThread()
      })
      return thread
    } catch {
      this.isUnable = true
      return undefined
    }
  }

  private endWhenIdle(): void {
    clearTimeout(this.idle)
    this.idle = setTimeout(() => this.endThread(), this.options.idleMs ?? IDLE_MS).unref()
  }

  private endThread(): void {
    clearTimeout(this.idle)
    const { thread } = this
    this.thread = undefined
    thread?.end()
  }
}
