/** One writer per thread across processes: a lock file with the holder's pid and start time. */
import { linkSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSameProcess, readProcessIdentity, type ProcessIdentity } from '../../rpc/process-identity.ts'

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

export interface WriterLock {
  release(): void
}

let own: Promise<ProcessIdentity | undefined> | undefined

/**
 * Takes the thread for this process. A lock of a dead holder (or of a pid that another process has by
 * now) is taken over; an unreadable one too, since its holder never finished taking it.
 * @throws ThreadInUse
 */
export async function acquireWriterLock(folder: string, threadId: string): Promise<WriterLock> {
  const identity = await (own ??= readProcessIdentity(process.pid))
  if (!identity) throw new Error('the process table cannot be read; a writer lock needs it')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${threadId}.lock`)
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify(identity), { mode: 0o600 })
  try {
    // A link appears with its content or not at all: nobody reads half a lock.
    while (!tryLink(draft, path)) {
      const holder = readHolder(path)
      if (holder && (await isSameProcess(holder))) throw new ThreadInUse(threadId, holder.pid)
      removeExactly(path, holder)
    }
  } finally {
    unlinkSync(draft)
  }
  return {
    release: () => {
      if (readHolder(path)?.startedAt === identity.startedAt) unlinkSync(path)
    },
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readHolder(path: string): ProcessIdentity | null {
  try {
    const holder = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessIdentity>
    return typeof holder.pid === 'number' && typeof holder.startedAt === 'string' ? (holder as ProcessIdentity) : null
  } catch {
    return null
  }
}

/** Moves a dead lock away; whoever moved a living one (two takers at once) puts it back. */
function removeExactly(path: string, dead: ProcessIdentity | null): void {
  const aside = `${path}.dead-${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const moved = readHolder(aside)
  if (moved && moved.startedAt !== dead?.startedAt) tryLink(aside, path)
  unlinkSync(aside)
}
