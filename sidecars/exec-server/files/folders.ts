import type { Dirent } from 'node:fs'
import { lstat, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import type { FileMetadata } from '../../protocol/exec-files.ts'
import type { BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { childOf, nodePath, parentOf } from './byte-path.ts'
import { osCodeOf, osError } from './file-error.ts'
import {
  factsOf,
  isDirect,
  locateEntry,
  locateReadable,
  locateVisible,
  locateWritableEntry,
  withPlace,
  type Place,
  type Reach,
} from './place.ts'

/** `fs/getMetadata`: the facts of what the path leads to, and whether the entry itself is a link. */
export async function getMetadata(path: BytePath, reach: Reach): Promise<FileMetadata> {
  return withPlace(locateVisible(path, reach), async (place) => {
    const isSymlink = path !== '/' && (await isLink(path, reach))
    if (isSymlink && !reach.followSymlinks) throw new WireError('invalidRequest', 'path contains a symbolic link')
    const facts = await factsOf(place)
    return {
      isDirectory: facts.isDirectory(),
      isFile: facts.isFile(),
      isSymlink,
      size: facts.size,
      createdAtMs: Math.floor(facts.birthtimeMs),
      modifiedAtMs: Math.floor(facts.mtimeMs),
    }
  })
}

async function isLink(path: BytePath, reach: Reach): Promise<boolean> {
  return withPlace(locateEntry(path, reach), async (entry) => (await lstat(entry.fsPath)).isSymbolicLink())
}

/** `fs/canonicalize`: the real path. */
export async function canonicalize(path: BytePath, reach: Reach): Promise<BytePath> {
  return withPlace(locateVisible(path, reach), async (place) => {
    if (!isDirect(reach)) return place.path
    return (await realpath(place.fsPath, { encoding: 'buffer' })).toString('latin1') as BytePath
  })
}

/** `fs/createDirectory`. With `recursive` an existing folder is no error and missing parents are made. */
export async function createDirectory(path: BytePath, recursive: boolean, reach: Reach): Promise<void> {
  if (isDirect(reach)) {
    await (recursive ? makeAll(path) : mkdir(nodePath(path)))
    return
  }
  if (recursive && (await isFolder(path, reach))) return
  try {
    await makeOne(path, reach)
  } catch (error) {
    if (!recursive || !isMissing(error) || path === '/') throw error
    await createDirectory(parentOf(path), true, reach)
    await makeOne(path, reach)
  }
}

/**
 * Makes a folder and the missing ones above it. Node's own `recursive` never ends where the parent is there and
 * the system says all the same that something is missing, as in /proc.
 */
async function makeAll(path: BytePath): Promise<void> {
  const failure = await makeOrFind(path)
  if (failure === null) return
  if (osCodeOf(failure) !== 'ENOENT' || path === '/') throw failure
  await makeAll(parentOf(path))
  const second = await makeOrFind(path)
  if (second !== null) throw second
}

/** What making the folder failed with, unless it is there. */
async function makeOrFind(path: BytePath): Promise<unknown> {
  try {
    await mkdir(nodePath(path))
    return null
  } catch (error) {
    const found = await stat(nodePath(path)).catch(() => null)
    return found?.isDirectory() ? null : error
  }
}

async function makeOne(path: BytePath, reach: Reach): Promise<void> {
  if (path === '/') throw osError('EEXIST')
  await withPlace(locateWritableEntry(path, reach), (entry) => mkdir(entry.fsPath))
}

async function isFolder(path: BytePath, reach: Reach): Promise<boolean> {
  try {
    return await withPlace(locateVisible(path, reach), async (place) => {
      if ((await factsOf(place)).isDirectory()) return true
      throw osError(reach.followSymlinks ? 'EEXIST' : 'ENOTDIR')
    })
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** True for a failure that says the place does not exist, or that the sandbox does not show it. */
export const isMissing = (error: unknown): boolean =>
  osCodeOf(error) === 'ENOENT' || (error instanceof WireError && error.code === 'notFound')

export interface FolderEntry {
  fileName: string
  isDirectory: boolean
  isFile: boolean
}

/** `fs/readDirectory`: links resolved, dangling ones left out, what the sandbox hides left out. */
export async function readDirectory(path: BytePath, reach: Reach): Promise<FolderEntry[]> {
  return withPlace(locateListable(path, reach), async (folder) => {
    const entries: FolderEntry[] = []
    for (const child of await childrenOf(folder, reach)) {
      const kind = await kindOf(folder, child, reach)
      if (kind) entries.push({ fileName: nodePath(child.name).toString('utf8'), ...kind })
    }
    return entries
  })
}

/** A folder whose names may be read: also one that is only the way to what the sandbox shows. */
export function locateListable(path: BytePath, reach: Reach): Promise<Place> {
  return reach.policy?.accessTo(path) === 'passage' ? locateVisible(path, reach) : locateReadable(path, reach)
}

export interface Child {
  /** Bytes of the name, one per character. */
  name: string
  path: BytePath
  entry: Dirent<Buffer>
}

/** The entries of a folder that the sandbox does not hide. */
export async function childrenOf(folder: Place, reach: Reach): Promise<Child[]> {
  const children: Child[] = []
  for (const entry of await readdir(folder.fsPath, { withFileTypes: true, encoding: 'buffer' })) {
    const name = entry.name.toString('latin1')
    const path = childOf(folder.path, name)
    if (reach.policy?.isVisible(path) ?? true) children.push({ name, path, entry })
  }
  return children
}

/** What a folder's entry is once links are followed; null for a link that leads nowhere one may see. */
async function kindOf(
  folder: Place,
  { entry, path }: Child,
  reach: Reach,
): Promise<{ isDirectory: boolean; isFile: boolean } | null> {
  if (!entry.isSymbolicLink()) return { isDirectory: entry.isDirectory(), isFile: entry.isFile() }
  try {
    const facts = isDirect(reach)
      ? await stat(nodePath(childOf(folder.path, entry.name.toString('latin1'))))
      : await withPlace(locateVisible(path, { ...reach, followSymlinks: true }), factsOf)
    return { isDirectory: facts.isDirectory(), isFile: facts.isFile() }
  } catch {
    return null
  }
}
