import { constants, type Stats } from 'node:fs'
import { lstat, open, readlink, stat, type FileHandle } from 'node:fs/promises'
import type { BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { childOf, nameOf, nodePath, parentOf } from './byte-path.ts'
import { osCodeOf, osError } from './file-error.ts'
import type { FilePolicy } from './file-policy.ts'

/**
 * Names a place without opening its content (open(2)); not among Node's constants. The descriptor pins
 * the place: whatever happens to the path afterwards, it stays the same file or folder.
 */
const O_PATH = 0o10000000
const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
/** As the kernel's own limit for one path. */
const MAX_LINKS = 40

/** How a call may reach its paths. */
export interface Reach {
  policy: FilePolicy | null
  /** False: a link anywhere on the way is an error. */
  followSymlinks: boolean
}

/** Calls without sandbox and with links go by the path itself; all others by pinned descriptors. */
export function isDirect(reach: Reach): boolean {
  return reach.policy === null && reach.followSymlinks
}

/**
 * A place a call has come to. `fsPath` leads there and nowhere else: for pinned places it goes through
 * the descriptor, so nobody can exchange a folder or a link between the check and the deed.
 */
export interface Place {
  readonly fsPath: Buffer
  /** The real path; for direct places the path as given. */
  readonly path: BytePath
  release(): Promise<void>
}

const direct = (path: BytePath): Place => ({ fsPath: nodePath(path), path, release: async () => {} })

class PinnedPlace implements Place {
  constructor(
    readonly fsPath: Buffer,
    readonly path: BytePath,
    private readonly handle: FileHandle,
  ) {}
  stat(): Promise<Stats> {
    return this.handle.stat()
  }
  release(): Promise<void> {
    return this.handle.close()
  }
}

/** The place a path leads to, the last link followed. It exists; nothing is checked but the way. */
async function pin(path: BytePath, followSymlinks: boolean): Promise<PinnedPlace> {
  requireDescriptorPaths()
  const handle = await open(nodePath(path), O_PATH | (followSymlinks ? 0 : O_NOFOLLOW)).catch(async (error) => {
    if (!followSymlinks && osCodeOf(error) === 'ENOENT' && (await isBehindLink(path))) throw osError('ENOTDIR')
    throw error
  })
  try {
    const fsPath = nodePath(`/proc/self/fd/${handle.fd}`)
    const real = (await readlink(fsPath, { encoding: 'buffer' })).toString('latin1') as BytePath
    if (!followSymlinks && real !== path) throw osError('ENOTDIR')
    await requireStillThere(handle, real)
    return new PinnedPlace(fsPath, real, handle)
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Whether a link stands above a path that leads to nothing. */
async function isBehindLink(path: BytePath): Promise<boolean> {
  for (let at = path; at !== '/';) {
    at = parentOf(at)
    if ((await lstat(nodePath(at)).catch(() => null))?.isSymbolicLink()) return true
  }
  return false
}

/** The kernel marks the name of a removed place; only a place that is still found under its name counts. */
async function requireStillThere(handle: FileHandle, real: BytePath): Promise<void> {
  const [pinned, named] = await Promise.all([handle.stat(), lstat(nodePath(real)).catch(() => null)])
  if (named?.dev !== pinned.dev || named.ino !== pinned.ino) throw osError('ENOENT')
}

/** Sandboxed calls rest on /proc/self/fd; without it nothing can be promised, so nothing is done. */
function requireDescriptorPaths(): void {
  if (process.platform === 'linux') return
  throw new WireError('internal', 'file calls under a sandbox or without links need Linux', {
    kind: 'sandboxUnavailable',
  })
}

/** An existing place whose content may be read. The caller releases it. */
export async function locateReadable(path: BytePath, reach: Reach): Promise<Place> {
  if (isDirect(reach)) return direct(path)
  const place = await pin(path, reach.followSymlinks)
  return checked(place, async () => {
    reach.policy?.requireRead(place.path)
    if ((await place.stat()).isSymbolicLink()) throw osError('ELOOP')
  })
}

/** An existing place that may be looked at: its kind, its size, whether it is there. */
export async function locateVisible(path: BytePath, reach: Reach): Promise<Place> {
  if (isDirect(reach)) return direct(path)
  const place = await pin(path, reach.followSymlinks)
  return checked(place, () => reach.policy?.requireLook(place.path))
}

/**
 * A name in an existing folder, there or not; a link at the end is not followed. Nothing is asked of
 * the policy yet. The root has no name and is refused as busy.
 */
export async function locateEntry(path: BytePath, reach: Reach): Promise<Place> {
  if (path === '/') throw osError('EBUSY')
  if (isDirect(reach)) return direct(path)
  const folder = await pin(parentOf(path), reach.followSymlinks)
  return checked(
    {
      fsPath: Buffer.concat([folder.fsPath, nodePath(`/${nameOf(path)}`)]),
      path: childOf(folder.path, nameOf(path)),
      release: () => folder.release(),
    },
    async () => {
      if (!(await folder.stat()).isDirectory()) throw osError('ENOTDIR')
    },
  )
}

/** The name of a new, changed or removed thing, after the policy allowed it. */
export async function locateWritableEntry(path: BytePath, reach: Reach): Promise<Place> {
  const place = await locateEntry(path, reach)
  return checked(place, () => reach.policy?.requireWrite(place.path))
}

/**
 * Opens a file for writing, creating it when missing, following a link at the end as far as the reach
 * allows. The content is untouched: the caller truncates once it has everything else together.
 */
export async function openForWriting(path: BytePath, reach: Reach, mode = 0o666): Promise<FileHandle> {
  // Not blocking: a named pipe without a reader would hold the call for ever.
  const flags = O_WRONLY | O_CREAT | O_NONBLOCK
  if (isDirect(reach)) return open(nodePath(path), flags, mode)
  let at = path
  for (let links = 0; links < MAX_LINKS; links++) {
    const entry = await locateEntry(at, reach)
    try {
      const link = await linkAt(entry)
      if (link !== null) {
        if (!reach.followSymlinks) throw osError('ELOOP')
        at = behindLink(entry.path, link)
        continue
      }
      reach.policy?.requireWrite(entry.path)
      return await open(entry.fsPath, flags | O_NOFOLLOW, mode)
    } catch (error) {
      // Somebody put a link there a moment ago: look again.
      if (osCodeOf(error) !== 'ELOOP') throw error
    } finally {
      await entry.release()
    }
  }
  throw osError('ELOOP')
}

/** Where a link leads, left for the kernel to follow: `..` behind another link is not a matter of text. */
function behindLink(link: BytePath, target: string): BytePath {
  const path = target.startsWith('/') ? target : `${parentOf(link)}/${target}`
  if (/(?:^|\/)\.{0,2}$/.test(path)) throw osError('EISDIR')
  return path as BytePath
}

async function linkAt(entry: Place): Promise<string | null> {
  try {
    return (await readlink(entry.fsPath, { encoding: 'buffer' })).toString('latin1')
  } catch (error) {
    const code = osCodeOf(error)
    if (code === 'EINVAL' || code === 'ENOENT') return null
    throw error
  }
}

/** Runs a check and releases the place when it fails. */
async function checked<P extends Place>(place: P, check: () => unknown): Promise<P> {
  try {
    await check()
    return place
  } catch (error) {
    await place.release()
    throw error
  }
}

/** Does something with a place and releases it. */
export async function withPlace<R>(locating: Promise<Place>, use: (place: Place) => Promise<R>): Promise<R> {
  const place = await locating
  try {
    return await use(place)
  } finally {
    await place.release()
  }
}

/** The facts of a place, links followed; a pinned one cannot be anything but what was pinned. */
export function factsOf(place: Place): Promise<Stats> {
  return stat(place.fsPath)
}
