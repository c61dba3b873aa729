/**
 * Reads the files a patch names and works out what each would become, changing nothing.
 * The plan is what people are shown, what rules judge and what is written.
 */
import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { PatchError, type Patch, type PatchHunk } from './parse-patch.ts'
import { applyEdits, planEdits } from './patch-text.ts'
import { readTextFile, writeTextFile } from './text-file.ts'
import { unifiedHunks } from './unified-diff.ts'

/** A file larger than this is not patched (it would be held in memory several times). */
export const MAX_PATCHED_FILE_BYTES = 256 * 1024 * 1024

export interface PlannedChange {
  kind: 'add' | 'update' | 'delete' | 'move'
  /** Absolute path as the patch named it. */
  path: string
  /** The file really touched: symbolic links of existing parents and of the file itself resolved. */
  realPath: string
  movedTo: string | null
  realMovedTo: string | null
  /** Content before; null when the file does not exist. */
  before: Uint8Array | null
  /** Content after; null when it is deleted. */
  after: Uint8Array | null
  /** Permission bits to keep; null for a new file. */
  mode: number | null
  /** The file has other names (hard links), which change with it. */
  hardLinks: number
  /** add and delete: the whole content; update: hunks without file header. */
  diff: string
}

interface KnownFile {
  content: Uint8Array | null
  mode: number | null
  hardLinks: number
}

/**
 * @param cwd absolute folder that relative paths start from
 * @throws PatchError when any hunk does not fit: then none does
 */
export async function planPatch(patch: Patch, cwd: string): Promise<PlannedChange[]> {
  const files = new Map<string, KnownFile>()
  const changes: PlannedChange[] = []
  for (const hunk of patch.hunks) changes.push(await planHunk(hunk, cwd, files))
  return changes
}

async function planHunk(hunk: PatchHunk, cwd: string, files: Map<string, KnownFile>): Promise<PlannedChange> {
  const path = resolve(cwd, hunk.path)
  const realPath = await resolveTarget(path)
  const known = await knownFile(realPath, hunk.path, files)
  const common = { path, realPath, movedTo: null, realMovedTo: null, mode: known.mode, hardLinks: known.hardLinks }
  if (hunk.kind === 'add') {
    const after = Buffer.from(hunk.lines.map((line) => `${line}\n`).join(''), 'utf8')
    files.set(realPath, { ...known, content: after })
    return { ...common, kind: 'add', before: known.content, after, diff: after.toString('utf8') }
  }
  if (hunk.kind === 'delete') {
    if (known.content === null) throw new PatchError(`Failed to delete file ${hunk.path}: no such file`)
    files.set(realPath, { content: null, mode: null, hardLinks: 1 })
    return { ...common, kind: 'delete', before: known.content, after: null, diff: readable(known.content) }
  }
  if (known.content === null) throw new PatchError(`Failed to read file to update ${hunk.path}: no such file`)
  const before = readTextFile(known.content, hunk.path)
  const edits = planEdits(before, hunk.chunks, hunk.path)
  const changed = applyEdits(before, edits)
  const after = writeTextFile(changed)
  const update = { ...common, before: known.content, after, diff: unifiedHunks(before, changed, edits) }
  if (hunk.movedTo === null) {
    files.set(realPath, { ...known, content: after })
    return { ...update, kind: 'update' }
  }
  const movedTo = resolve(cwd, hunk.movedTo)
  const realMovedTo = await resolveTarget(movedTo)
  await knownFile(realMovedTo, hunk.movedTo, files)
  files.set(realPath, { content: null, mode: null, hardLinks: 1 })
  files.set(realMovedTo, { ...known, content: after })
  return { ...update, kind: 'move', movedTo, realMovedTo }
}

function readable(bytes: Uint8Array): string {
  return bytes.includes(0) ? `(binary, ${bytes.length} bytes)` : Buffer.from(bytes).toString('utf8')
}

/**
 * Where writing to `path` would land: links in the existing part are followed, the rest is appended.
 * A dangling link is refused, since its target is not what was named.
 */
export async function resolveTarget(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ELOOP') throw new PatchError(`${path}: too many symbolic links`)
    if (code !== 'ENOENT') throw new PatchError(`${path}: ${(error as Error).message}`)
  }
  const entry = await lstat(path).catch(() => null)
  if (entry?.isSymbolicLink()) throw new PatchError(`${path} is a symbolic link to a file that does not exist`)
  const parent = dirname(path)
  return parent === path ? path : join(await resolveTarget(parent), basename(path))
}

async function knownFile(realPath: string, name: string, files: Map<string, KnownFile>): Promise<KnownFile> {
  const seen = files.get(realPath)
  if (seen) return seen
  const file = await readRegularFile(realPath, name)
  files.set(realPath, file)
  return file
}

/** Opens without blocking (a FIFO would wait for a writer) and reads only regular files. */
async function readRegularFile(realPath: string, name: string): Promise<KnownFile> {
  let handle
  try {
    handle = await open(realPath, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return { content: null, mode: null, hardLinks: 1 }
    if (code === 'ENXIO' || code === 'EISDIR') throw new PatchError(`${name} is not a regular file`)
    throw new PatchError(`Failed to read ${name}: ${(error as Error).message}`)
  }
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new PatchError(`${name} is not a regular file`)
    if (stat.size > MAX_PATCHED_FILE_BYTES)
      throw new PatchError(`${name} has ${stat.size} bytes; files over ${MAX_PATCHED_FILE_BYTES} bytes are not patched`)
    return { content: await handle.readFile(), mode: stat.mode & 0o7777, hardLinks: stat.nlink }
  } finally {
    await handle.close()
  }
}
