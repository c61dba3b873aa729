import { constants } from 'node:fs'
import { lstat, open, readlink, symlink, type FileHandle } from 'node:fs/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { childOf, isWithin, nameOf, parentOf } from './byte-path.ts'
import { canonicalize, childrenOf, createDirectory, isMissing } from './folders.ts'
import {
  isDirect,
  locateEntry,
  locateReadable,
  locateVisible,
  locateWritableEntry,
  openForWriting,
  withPlace,
  type Place,
  type Reach,
} from './place.ts'
import { readPiece } from './read-file.ts'
import { truncate, writeAll } from './write-file.ts'

const BLOCK_BYTES = 1024 * 1024

/** How the two ends of a copy may be reached. */
export interface CopyReach {
  from: Reach
  to: Reach
}

/**
 * `fs/copy`: a file, a folder with everything in it, or a link as a link. Modes are kept. A folder is copied into
 * one that is there already; missing ones above it are made.
 */
export async function copy(
  source: BytePath,
  destination: BytePath,
  recursive: boolean,
  reach: CopyReach,
): Promise<void> {
  await withPlace(locateEntry(source, reach.from), async (entry) => {
    if ((await lstat(entry.fsPath)).isDirectory()) {
      if (!recursive)
        throw new WireError('invalidRequest', 'fs/copy requires recursive: true when sourcePath is a directory')
      if (isWithin(await futurePath(destination, reach.to), await canonicalize(source, reach.from)))
        throw new WireError('invalidRequest', 'fs/copy cannot copy a directory to itself or one of its descendants')
    }
    await copyEntry(entry, destination, reach)
  })
}

/** Where a path is or would be, its links followed. */
async function futurePath(path: BytePath, reach: Reach): Promise<BytePath> {
  try {
    return await canonicalize(path, reach)
  } catch (error) {
    if (!isMissing(error) || path === '/') throw error
    return childOf(await futurePath(parentOf(path), reach), nameOf(path))
  }
}

async function copyEntry(entry: Place, destination: BytePath, reach: CopyReach): Promise<void> {
  const facts = await lstat(entry.fsPath)
  reach.from.policy?.requireRead(entry.path)
  if (facts.isDirectory()) await copyFolder(entry, destination, reach)
  else if (facts.isSymbolicLink()) await copyLink(entry, destination, reach.to)
  else if (facts.isFile()) await copyContent(entry, destination, reach)
  else throw new WireError('invalidRequest', 'fs/copy only supports regular files, directories, and symlinks')
}

async function copyFolder(entry: Place, destination: BytePath, reach: CopyReach): Promise<void> {
  await createDirectory(destination, true, reach.to)
  const target = await withPlace(locateVisible(destination, reach.to), async (place) => {
    reach.to.policy?.requireWrite(place.path)
    return place.path
  })
  // From here on the way is known: a link that turns up on it now was put there to lead us astray.
  const knownWay = (way: Reach) => (isDirect(way) ? way : { ...way, followSymlinks: false })
  const below = { from: knownWay(reach.from), to: knownWay(reach.to) }
  await withPlace(locateReadable(entry.path, below.from), async (folder) => {
    for (const child of await childrenOf(folder, { ...reach.from, policy: null }))
      await withPlace(locateEntry(child.path, below.from), (place) =>
        copyEntry(place, childOf(target, child.name), below),
      )
  })
}

async function copyLink(entry: Place, destination: BytePath, reach: Reach): Promise<void> {
  const target = await readlink(entry.fsPath, { encoding: 'buffer' })
  await withPlace(locateWritableEntry(destination, reach), (place) => symlink(target, place.fsPath))
}

async function copyContent(entry: Place, destination: BytePath, { to: reach }: CopyReach): Promise<void> {
  const from = await open(entry.fsPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  let to: FileHandle | undefined
  try {
    const source = await from.stat()
    to = await openForWriting(destination, reach, source.mode & 0o777)
    const target = await to.stat()
    if (source.dev === target.dev && source.ino === target.ino) return
    await truncate(to)
    for (let offset = 0; ;) {
      const block = await readPiece(from, offset, BLOCK_BYTES)
      offset += await writeAll(to, block, offset)
      if (block.length < BLOCK_BYTES) break
    }
    if (target.isFile()) await to.chmod(source.mode & 0o7777)
  } finally {
    await to?.close()
    await from.close()
  }
}
