import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { decode, integer, object, string } from '../protocol/decode.ts'
import { isSameProcess, readProcessIdentity, type ProcessIdentity } from './process-identity.ts'

const identity = object({ pid: integer(1), startedAt: string })

/** A living process holds the lock. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld'
  constructor(
    readonly path: string,
    readonly pid: number,
  ) {
    super(`${path} is held by process ${pid}`)
  }
}

export interface ProcessLock {
  readonly path: string
  /** Whether the file still names this process: it may have been removed, and taken by another one since. */
  isHeld(): boolean
  release(): void
}

let own: Promise<ProcessIdentity | undefined> | undefined
let drafts = 0

/**
 * Takes `path` for this process: a file with the pid and start time of its holder. That of a dead holder, or of
 * a pid that another process has by now, is replaced. One that names no process is given to `onUnreadable` with
 * what is wrong with it, which must move or remove it.
 * @throws LockHeld, or the file system's error; the folder must exist
 */
export async function takeProcessLock(
  path: string,
  onUnreadable: (problem: string) => void = () => unlinkSync(path),
): Promise<ProcessLock> {
  const self = await (own ??= readProcessIdentity(process.pid))
  if (!self) throw new Error('the process table cannot be read; a lock needs it')
  const draft = `${path}.${process.pid}-${++drafts}`
  try {
    writeFileSync(draft, `${JSON.stringify(self)}\n`, { mode: 0o600 })
    // A link appears with its content or not at all, so nobody can read half a lock.
    while (!tryLink(draft, path)) await removeDead(path, onUnreadable)
  } finally {
    // There is none in a folder that cannot be written, and half of one on a full disk.
    rmSync(draft, { force: true })
  }
  const isHeld = () => readHolder(path)?.startedAt === self.startedAt
  return {
    path,
    isHeld,
    release: () => {
      if (isHeld()) unlinkSync(path)
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

async function removeDead(path: string, onUnreadable: (problem: string) => void): Promise<void> {
  let holder: ProcessIdentity | undefined
  try {
    holder = readHolder(path)
  } catch (error) {
    onUnreadable((error as Error).message)
    return
  }
  if (!holder) return
  if (await isSameProcess(holder)) throw new LockHeld(path, holder.pid)
  // Two takers may both see the dead lock; whoever moved a living one away puts it back.
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
