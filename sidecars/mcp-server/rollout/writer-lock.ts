/** One writer per thread across processes. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { LockHeld, takeProcessLock, type ProcessLock } from '../../rpc/process-lock.ts'

/** Another living process writes this thread. */
export class ThreadInUse extends Error {
  override readonly name = 'ThreadInUse'
  constructor(
    threadId: string,
    readonly pid: number,
  ) {
    super(`thread ${threadId} is in use by process ${pid}; it can be read here, and written once that process lets go`)
  }
}

export type WriterLock = ProcessLock

/**
 * Takes the thread for this process. An unreadable lock is taken over: its holder never finished taking it.
 * @throws ThreadInUse
 */
export async function acquireWriterLock(folder: string, threadId: string): Promise<WriterLock> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    return await takeProcessLock(join(folder, `${threadId}.lock`))
  } catch (error) {
    throw error instanceof LockHeld ? new ThreadInUse(threadId, error.pid) : error
  }
}
