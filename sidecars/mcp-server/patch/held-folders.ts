/**
 * Folders that are held by a descriptor while files in them are changed: whatever becomes of the path meanwhile,
 * a name is reached in exactly the folder that was looked at.
 */
import { constants } from 'node:fs'
import { mkdir, open, readlink, rmdir, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { PatchError } from './parse-patch.ts'

/** Names a place without opening its content (open(2)); not among Node's constants. */
const O_PATH = 0o10000000
const HOLD = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Only Linux reaches names by way of a descriptor; elsewhere they are reached by the path. */
const CAN_HOLD = process.platform === 'linux'

interface Held {
  /** Stands in front of the names in it. */
  prefix: string
  handle: FileHandle | undefined
}

export class HeldFolders {
  private readonly held = new Map<string, Held>()
  private readonly made: { parent: Held; name: string }[] = []

  /**
   * Where a file with that real path is reached. Folders that are missing are made.
   * @throws PatchError when its folder is not the one that the path named; the system's error otherwise
   */
  async placeOf(path: string): Promise<string> {
    return join((await this.hold(dirname(path))).prefix, basename(path))
  }

  /** Another name in the folder of a place. */
  static beside(place: string, name: string): string {
    return join(dirname(place), name)
  }

  /** Takes away the folders that were made, as far as they are empty. */
  async removeMade(): Promise<void> {
    for (const { parent, name } of this.made.splice(0).reverse())
      await rmdir(join(parent.prefix, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error
      })
  }

  async release(): Promise<void> {
    const handles = [...this.held.values()].map(({ handle }) => handle)
    this.held.clear()
    await Promise.all(handles.map((handle) => handle?.close()))
  }

  private async hold(path: string): Promise<Held> {
    const known = this.held.get(path)
    if (known) return known
    const held = await this.open(path)
    this.held.set(path, held)
    return held
  }

  private async open(path: string): Promise<Held> {
    if (!CAN_HOLD) {
      await mkdir(path, { recursive: true })
      return { prefix: path, handle: undefined }
    }
    try {
      return await holdAt(path, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error
    }
    const parent = await this.hold(dirname(path))
    const name = basename(path)
    await mkdir(join(parent.prefix, name))
    this.made.push({ parent, name })
    return holdAt(join(parent.prefix, name), path)
  }
}

/** @param path the real path that the folder must have */
async function holdAt(place: string, path: string): Promise<Held> {
  const handle = await open(place, HOLD).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOTDIR' || error.code === 'ELOOP' ? elsewhere(path) : error
  })
  const prefix = `/proc/self/fd/${handle.fd}`
  try {
    if ((await readlink(prefix)) !== path) throw elsewhere(path)
    return { prefix, handle }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const elsewhere = (path: string): PatchError =>
  new PatchError(`${path} leads somewhere else since the patch was read; nothing was changed`)
