/** The submission channel of a thread: one operation at a time, in order of arrival. */

import { currentTrace, type TraceContext } from './trace-context.ts'

/** Starts a trace span around an operation of a thread; returns what ends it. */
export type TraceSubmission = (
  op: string,
  id: string,
  threadId: string,
  parent: TraceContext | null,
) => { end(error?: unknown): void }

/** The thread has shut down; nothing more is taken. */
export class ThreadClosed extends Error {
  override readonly name = 'ThreadClosed'
  constructor() {
    super('the thread is shut down')
  }
}

let nextId = 1

/** Owned by its thread. Handlers are short: they start work, resolve waiters or change settings. */
export class Submissions {
  private tail: Promise<unknown> = Promise.resolve()
  private closed = false

  constructor(
    private readonly threadId: string,
    private readonly trace: TraceSubmission | null,
  ) {}

  /**
   * Queues an operation and resolves with what it gives; its span belongs to the trace of the request that
   * is being answered (`withTrace`). Rejects with ThreadClosed after `close`.
   */
  submit<T>(op: string, handle: () => Promise<T> | T): Promise<T> {
    if (this.closed) return Promise.reject(new ThreadClosed())
    const id = String(nextId++)
    const parent = this.trace && currentTrace()
    const run = this.tail.then(async () => {
      if (this.closed) throw new ThreadClosed()
      const span = this.trace?.(op, id, this.threadId, parent)
      try {
        const result = await handle()
        span?.end()
        return result
      } catch (error) {
        span?.end(error)
        throw error
      }
    })
    this.tail = run.catch(() => undefined) // The submitter sees the error; the next operation goes on.
    return run
  }

  /** Lets the running operation finish and refuses all others. */
  async close(): Promise<void> {
    this.closed = true
    await this.tail
  }
}
