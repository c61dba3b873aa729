import { appendFileSync, mkdirSync, readFileSync, rmdirSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import type { BytePath } from '../../protocol/path-uri.ts'
import { nodePath } from '../files/byte-path.ts'
import type { MountRegister } from './mount-register.ts'

/** Of {@link MountPoints}, in the folder of their server. */
export const MOUNT_POINTS_FILE = 'mount-points'

/**
 * Empty folders that exist only while a command runs, so that something can be mounted where the owner
 * has nothing. Several commands share one, also those of other servers; the last takes it away. What a killed
 * server leaves behind stands in a file, for the next one to remove.
 */
export class MountPoints {
  private readonly users = new Map<BytePath, number>()
  private readonly recorded = new Set<BytePath>()

  constructor(
    /**
     * Names every folder that was ever made, one a line, behind this server's entry in the register and a tab;
     * the watchdog reads it, too.
     */
    private readonly recordPath: string,
    private readonly register: MountRegister,
  ) {}

  /** True when the place can be mounted on. False: it cannot be made, and then nobody else could make it either. */
  take(path: BytePath): boolean {
    const users = this.users.get(path)
    if (users === undefined) {
      try {
        // There and nobody's mount point: it is there to be mounted on, and not ours to remove.
        if (!this.register.enter(path, () => isMade(path))) return true
      } catch {
        return false
      }
    }
    this.users.set(path, (users ?? 0) + 1)
    this.record(path)
    return true
  }

  /** Tells of a folder whether it is there for mounting only, and may be gone in a moment. To be asked at once. */
  lookAround(): (path: BytePath) => boolean {
    const isOthers = this.register.lookAround()
    return (path) => this.users.has(path) || isOthers(path)
  }

  giveBack(path: BytePath): void {
    const users = this.users.get(path)
    if (users === undefined) return
    if (users > 1) {
      this.users.set(path, users - 1)
      return
    }
    this.users.delete(path)
    this.register.leave(path, () => removeEmpty(path))
  }

  /** Removes all of them: nobody mounts any more. */
  dispose(): void {
    for (const path of this.users.keys()) this.register.leave(path, () => removeEmpty(path))
    this.users.clear()
  }

  /** Once for each: an agent's commands use the same folders over and over. */
  private record(path: BytePath): void {
    // A line cannot hold a name with a line break or a tab; such a folder is left behind by a kill, and only then.
    if (this.recorded.has(path) || /[\n\t]/.test(path)) return
    this.recorded.add(path)
    try {
      appendFileSync(this.recordPath, `${this.register.entryOf(path)}\t${path}\n`, { mode: 0o600, encoding: 'latin1' })
    } catch {
      // A full disk must not stop a command; the folders are empty and only look odd.
    }
  }
}

/** Removes what a server that was killed has left; only what is still an empty folder. */
export function sweepMountPoints(recordPath: string): void {
  let text: string
  try {
    text = readFileSync(recordPath, 'latin1')
  } catch {
    return
  }
  for (const line of text.split('\n')) {
    const [entry = '', path] = line.split('\t')
    if (path !== undefined && takenOut(entry)) removeEmpty(path as BytePath)
  }
}

/** Takes a dead server's entry out of the register; true when nobody else is in it for that place. */
function takenOut(entry: string): boolean {
  if (entry === '') return true
  try {
    unlinkSync(entry)
  } catch {
    // Taken out already.
  }
  try {
    rmdirSync(dirname(entry))
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/** False when something is there already. */
function isMade(path: BytePath): boolean {
  try {
    mkdirSync(nodePath(path), { mode: 0o755 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function removeEmpty(path: BytePath): void {
  try {
    rmdirSync(nodePath(path))
  } catch {
    // Somebody put something there, or has removed it.
  }
}
