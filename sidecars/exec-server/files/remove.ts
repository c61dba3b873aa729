import { lstat, rm, rmdir, unlink } from 'node:fs/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { childrenOf, isMissing } from './folders.ts'
import { osError } from './file-error.ts'
import {
  isDirect,
  locateEntry,
  locateReadable,
  locateWritableEntry,
  withPlace,
  type Place,
  type Reach,
} from './place.ts'

export interface RemoveOptions {
  /** Takes a folder with everything in it. */
  recursive: boolean
  /** A missing path is no error. */
  force: boolean
  /** A link is refused instead of removed. */
  refusesLinks?: boolean
}

/** `fs/remove`: a link itself is removed, never what it leads to. */
export async function remove(
  path: BytePath,
  { recursive, force, refusesLinks }: RemoveOptions,
  reach: Reach,
): Promise<void> {
  try {
    await withPlace(locateEntry(path, reach), async (entry) => {
      const facts = await lstat(entry.fsPath)
      if (refusesLinks && facts.isSymbolicLink()) throw new WireError('invalidRequest', 'path contains a symbolic link')
      const isFolder = facts.isDirectory()
      reach.policy?.requireWrite(entry.path)
      // All or nothing as far as the sandbox goes: what may stay is known before the first deletion.
      if (isFolder && reach.policy?.protectsBelow(entry.path)) throw osError('EROFS')
      if (!isFolder) await unlink(entry.fsPath)
      else if (!recursive) await rmdir(entry.fsPath)
      else if (isDirect(reach)) await rm(entry.fsPath, { recursive: true })
      else await removeTree(entry, reach)
    })
  } catch (error) {
    if (!force || !isMissing(error)) throw error
  }
}

/** Goes down by descriptors, so that a folder exchanged for a link on the way is not followed. */
async function removeTree(entry: Place, reach: Reach): Promise<void> {
  const below = { ...reach, followSymlinks: false }
  await withPlace(locateReadable(entry.path, below), async (folder) => {
    for (const child of await childrenOf(folder, { ...reach, policy: null })) {
      if (child.entry.isDirectory())
        await withPlace(locateEntry(child.path, below), (place) => removeTree(place, reach))
      else await withPlace(locateWritableEntry(child.path, below), (place) => unlink(place.fsPath))
    }
  })
  reach.policy?.requireWrite(entry.path)
  await rmdir(entry.fsPath)
}
