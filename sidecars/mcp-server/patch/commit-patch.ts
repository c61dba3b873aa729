/**
 * Writes a plan to disk: all of it or nothing.
 *
 * Every new content is first staged beside its file and synced (a full disk or a read-only folder
 * shows here, with nothing changed), then moved into place. When a step fails, what was done is undone
 * newest first.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, open, readFile, rename, unlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { HeldFolders } from './held-folders.ts'
import { PatchError } from './parse-patch.ts'
import { resolveTarget, type PlannedChange } from './plan-patch.ts'

/** The file itself, no link in its place, and without waiting for the writer of a pipe. */
const READ_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

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
/** A state with the place at which its file is reached. */
type PlacedState = FinalState & { place: string }

/**
 * @throws PatchError when a file changed since it was planned, its folder is another one or a write fails; then
 *   every file is as it was before. @throws PatchLeftovers when undoing failed too.
 */
export async function commitPatch(changes: readonly PlannedChange[]): Promise<void> {
  await verifyWays(changes)
  const folders = new HeldFolders()
  const undo: (() => Promise<void>)[] = [() => folders.removeMade()]
  try {
    await commit(finalStates(changes), folders, undo)
  } finally {
    await folders.release()
  }
}

async function commit(states: readonly FinalState[], folders: HeldFolders, undo: (() => Promise<void>)[]) {
  const cleanUp: string[] = []
  try {
    const placed: PlacedState[] = []
    for (const state of states) placed.push({ ...state, place: await folders.placeOf(state.path) })
    for (const state of placed) await verifyContent(state)
    const staged = new Map<string, string>()
    for (const state of placed)
      if (state.after !== null && !state.inPlace) staged.set(state.path, await stage(state, state.after, undo))
    for (const state of placed) await moveIntoPlace(state, staged.get(state.path), undo, cleanUp)
  } catch (error) {
    await undoAll(undo, error)
    if (error instanceof PatchError) throw error
    throw new PatchError(`The patch was not applied, nothing changed: ${(error as Error).message}`)
  }
  for (const place of cleanUp) await unlink(place).catch(() => undefined) // The new content is in place; a left backup is harmless.
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
  // What is made and taken away again in one patch needs nothing.
  return [...states.values()].filter(({ before, after }) => before !== null || after !== null)
}

async function verifyWays(changes: readonly PlannedChange[]): Promise<void> {
  for (const change of changes) {
    if ((await resolveTarget(change.path)) !== change.realPath)
      throw new PatchError(`${change.path} leads somewhere else since the patch was read; nothing was changed`)
    if (change.movedTo !== null && (await resolveTarget(change.movedTo)) !== change.realMovedTo)
      throw new PatchError(`${change.movedTo} leads somewhere else since the patch was read; nothing was changed`)
  }
}

async function verifyContent({ path, place, before }: PlacedState): Promise<void> {
  if (before === null) return
  const now = await readFile(place, { flag: READ_ITSELF }).catch(() => null)
  if (now === null || Buffer.compare(now, before) !== 0)
    throw new PatchError(`${path} changed since the patch was read; nothing was changed`)
}

const sideOf = (place: string, word: string): string =>
  HeldFolders.beside(place, `.${basename(place).slice(0, 100)}.${word}-${randomBytes(6).toString('hex')}`)

async function stage(state: PlacedState, content: Uint8Array, undo: (() => Promise<void>)[]): Promise<string> {
  const side = sideOf(state.place, 'new')
  const handle = await open(side, 'wx', state.mode ?? 0o666)
  undo.push(async () => unlink(side).catch(ignoreMissing))
  try {
    await handle.writeFile(content)
    await handle.sync()
    if (state.mode !== null) await handle.chmod(state.mode)
    const owner = await lstat(state.place).catch(() => null)
    if (owner && process.getuid?.() === 0) await handle.chown(owner.uid, owner.gid)
  } finally {
    await handle.close()
  }
  return side
}

async function moveIntoPlace(
  state: PlacedState,
  staged: string | undefined,
  undo: (() => Promise<void>)[],
  cleanUp: string[],
): Promise<void> {
  if (state.inPlace && state.after !== null && state.before !== null) {
    const { before, after, place } = state
    undo.push(() => overwrite(place, before))
    return overwrite(place, after)
  }
  const { place } = state
  if (await exists(place)) {
    const backup = sideOf(place, 'old')
    await link(place, backup)
    cleanUp.push(backup)
    undo.push(() => rename(backup, place))
  } else if (staged) undo.push(async () => unlink(place).catch(ignoreMissing))
  if (staged) await rename(staged, place)
  else if (state.before !== null || (await exists(place))) await unlink(place)
}

/** Keeps the inode, so that every hard link sees the change, as it would with an editor that writes in place. */
async function overwrite(place: string, content: Uint8Array): Promise<void> {
  const handle = await open(place, constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    await handle.writeFile(content)
    await handle.truncate(content.length)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const exists = async (place: string): Promise<boolean> => (await lstat(place).catch(() => null)) !== null

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
