/**
 * Writes a plan to disk: all of it or nothing.
 *
 * Every new content is first staged beside its file and synced (a full disk or a read-only folder
 * shows here, with nothing changed), then moved into place. When a step fails, what was done is undone
 * newest first.
 */
import { randomBytes } from 'node:crypto'
import { chmod, chown, link, mkdir, open, readFile, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { PatchError } from './parse-patch.ts'
import { resolveTarget, type PlannedChange } from './plan-patch.ts'

/** A step failed and could not be undone; the message lists exactly what remains changed. */
export class PatchLeftovers extends PatchError {
  constructor(
    message: string,
    readonly remaining: string[],
  ) {
    super(message)
    this.name = 'PatchLeftovers'
  }
}

interface FinalState {
  path: string
  before: Uint8Array | null
  after: Uint8Array | null
  mode: number | null
  inPlace: boolean
}

/**
 * @throws PatchError when a file changed since it was planned or a write fails; then every file is as
 *   it was before. @throws PatchLeftovers when undoing failed too.
 */
export async function commitPatch(changes: readonly PlannedChange[]): Promise<void> {
  const states = finalStates(changes)
  await verifyUnchanged(changes, states)
  const undo: (() => Promise<void>)[] = []
  const cleanUp: string[] = []
  try {
    const staged = new Map<string, string>()
    for (const state of states)
      if (state.after !== null && !state.inPlace) staged.set(state.path, await stage(state, state.after, undo))
    for (const state of states) await moveIntoPlace(state, staged.get(state.path), undo, cleanUp)
  } catch (error) {
    await undoAll(undo, error)
    throw new PatchError(`The patch was not applied, nothing changed: ${(error as Error).message}`)
  }
  for (const path of cleanUp) await unlink(path).catch(() => undefined) // The new content is in place; a left backup is harmless.
}

/** One patch may touch a file more than once; only its first and last content count. */
function finalStates(changes: readonly PlannedChange[]): FinalState[] {
  const states = new Map<string, FinalState>()
  const put = (path: string, before: Uint8Array | null, after: Uint8Array | null, change: PlannedChange) => {
    const first = states.get(path)
    states.set(path, {
      path,
      before: first ? first.before : before,
      after,
      mode: change.mode ?? first?.mode ?? null,
      inPlace: change.hardLinks > 1 && change.kind === 'update',
    })
  }
  for (const change of changes) {
    if (change.realMovedTo === null) put(change.realPath, change.before, change.after, change)
    else {
      put(change.realPath, change.before, null, change)
      if (change.realMovedTo === change.realPath) put(change.realPath, change.before, change.after, change)
      else put(change.realMovedTo, null, change.after, change)
    }
  }
  return [...states.values()]
}

async function verifyUnchanged(changes: readonly PlannedChange[], states: readonly FinalState[]): Promise<void> {
  for (const change of changes) {
    if ((await resolveTarget(change.path)) !== change.realPath)
      throw new PatchError(`${change.path} leads somewhere else since the patch was read; nothing was changed`)
    if (change.movedTo !== null && (await resolveTarget(change.movedTo)) !== change.realMovedTo)
      throw new PatchError(`${change.movedTo} leads somewhere else since the patch was read; nothing was changed`)
  }
  for (const state of states) {
    if (state.before === null) continue
    const now = await readFile(state.path).catch(() => null)
    if (now === null || Buffer.compare(now, state.before) !== 0)
      throw new PatchError(`${state.path} changed since the patch was read; nothing was changed`)
  }
}

const sideName = (path: string, word: string): string =>
  join(dirname(path), `.${basename(path).slice(0, 100)}.${word}-${randomBytes(6).toString('hex')}`)

async function stage(state: FinalState, content: Uint8Array, undo: (() => Promise<void>)[]): Promise<string> {
  await makeFolders(dirname(state.path), undo)
  const side = sideName(state.path, 'new')
  const handle = await open(side, 'wx', state.mode ?? 0o666)
  undo.push(async () => unlink(side).catch(ignoreMissing))
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (state.mode !== null) await chmod(side, state.mode)
  const owner = await stat(state.path).catch(() => null)
  if (owner && process.getuid?.() === 0) await chown(side, owner.uid, owner.gid)
  return side
}

async function makeFolders(folder: string, undo: (() => Promise<void>)[]): Promise<void> {
  const made = await mkdir(folder, { recursive: true })
  if (made === undefined) return
  const folders: string[] = []
  for (let at = folder; at.length >= made.length; at = dirname(at)) folders.push(at)
  undo.push(async () => {
    for (const at of folders) await rmdir(at).catch(ignoreMissing)
  })
}

async function moveIntoPlace(
  state: FinalState,
  staged: string | undefined,
  undo: (() => Promise<void>)[],
  cleanUp: string[],
): Promise<void> {
  if (state.inPlace && state.after !== null && state.before !== null) {
    const { before, after, path } = state
    undo.push(() => overwrite(path, before))
    return overwrite(path, after)
  }
  if (await exists(state.path)) {
    const backup = sideName(state.path, 'old')
    await link(state.path, backup)
    cleanUp.push(backup)
    undo.push(() => rename(backup, state.path))
  } else if (staged) undo.push(async () => unlink(state.path).catch(ignoreMissing))
  if (staged) await rename(staged, state.path)
  else if (state.before !== null || (await exists(state.path))) await unlink(state.path)
}

/** Keeps the inode, so that every hard link sees the change, as it would with an editor that writes in place. */
async function overwrite(path: string, content: Uint8Array): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    await handle.writeFile(content)
    await handle.truncate(content.length)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => null)) !== null

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error
}

async function undoAll(undo: (() => Promise<void>)[], cause: unknown): Promise<void> {
  const failures: string[] = []
  for (const step of undo.reverse()) {
    try {
      await step()
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  if (failures.length > 0)
    throw new PatchLeftovers(
      `The patch failed (${(cause as Error).message}) and could not be undone completely: ${failures.join('; ')}`,
      failures,
    )
}
