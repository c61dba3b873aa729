import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decode, integer, object, string } from '../../sidecars/protocol/decode.ts'
import { isSameProcess, readProcessIdentity, type ProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { fileStamp } from '../storage/keep-aside.ts'

const identity = object({ pid: integer(1), startedAt: string })

/** Another host works on this data folder. */
export class HostRunningError extends Error {
  override readonly name = 'HostRunningError'
  constructor(
    path: string,
    readonly pid: number,
  ) {
    super(`Gatehouse is running already with this data folder (process ${pid}, lock ${path}); use it, or stop it first`)
  }
}

export interface HostLock {
  readonly path: string
  release(): void
}

/**
 * Takes the data folder for this process, or throws HostRunningError. The lock is a file with the pid
 * and start time of its holder; that of a dead holder is replaced, and a corrupt one is kept aside
 * (`onProblem` hears about it).
 */
export async function acquireHostLock(lockDir: string, onProblem: (message: string) => void): Promise<HostLock> {
  const path = join(lockDir, 'host.lock')
  const own = await readProcessIdentity(process.pid)
  if (!own) throw new Error('the process table cannot be read; a host lock needs it')
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(own)}\n`, { mode: 0o600 })
  try {
    // A link appears with its content or not at all, so nobody can read half a lock.
    while (!tryLink(draft, path)) await removeDeadLock(path, onProblem)
  } finally {
    unlinkSync(draft)
  }
  return {
    path,
    release: () => {
      if (readHolder(path)?.startedAt === own.startedAt) unlinkSync(path)
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

async function removeDeadLock(path: string, onProblem: (message: string) => void): Promise<void> {
  let holder: ProcessIdentity | undefined
  try {
    holder = readHolder(path)
    if (!holder) return
  } catch (error) {
    const aside = `${path}.corrupt-${fileStamp(Date.now())}`
    renameSync(path, aside)
    onProblem(`${path}: ${(error as Error).message}; kept as ${aside}`)
    return
  }
  if (await isSameProcess(holder)) throw new HostRunningError(path, holder.pid)
  // Two starting hosts may both see the dead lock; whoever moved a living one away puts it back.
  const moved = `${path}.dead-${process.pid}`
  try {
    renameSync(path, moved)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const taken = readHolder(moved)
  if (taken && taken.startedAt !== holder.startedAt) tryLink(moved, path)
  unlinkSync(moved)
}

/** Undefined when there is no lock; throws when it does not name a process. */
function readHolder(path: string): ProcessIdentity | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return decode(identity, JSON.parse(text) as unknown)
}
