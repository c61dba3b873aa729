/**
 * Who mounts where, over all servers of one user: a server that is done with a place must not take it away while
 * another one's command has it mounted, because that would take the mount away, too.
 *
 * One folder for each place, in shared memory: gone after a restart of the machine, and never the same folder
 * inside of a sandbox, which has shared memory of its own. In it one empty file for each server that uses the
 * place, named after its process.
 */
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { BytePath } from '../../protocol/path-uri.ts'
import { nodePath } from '../files/byte-path.ts'
import { readProcStat } from '../life/proc-stat.ts'

const SHARED_MEMORY = '/dev/shm'
/** Holders keep a lock for microseconds, and a dead one is known as such; this long nobody waits for one that is stopped. */
const LOCK_LIMIT_MS = 10_000

export class MountRegister {
  private readonly self: string

  /** @param folder null where there is no shared memory: then every server is the only one it knows of */
  constructor(
    private readonly folder: string | null,
    pid = process.pid,
  ) {
    this.self = `${pid}-${readProcStat(pid)?.startTicks ?? 0}`
  }

  /** The register of this user. */
  static ofUser(): MountRegister {
    const folder = join(SHARED_MEMORY, `gatehouse-mounts-${process.getuid?.() ?? 'user'}`)
    try {
      accessSync(SHARED_MEMORY, constants.W_OK)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // Anybody could have made it first: theirs is not to be trusted.
      const { uid, mode } = statSync(folder)
      return new MountRegister(uid === process.getuid?.() && (mode & 0o077) === 0 ? folder : null)
    } catch {
      return new MountRegister(null)
    }
  }

  /**
   * Looks once at which places are used at all. The answer tells of a path whether it is an empty folder that some
   * server, perhaps a dead one, has made for mounting.
   */
  lookAround(): (path: BytePath) => boolean {
    const { folder } = this
    let names: string[] = []
    if (folder !== null) quietly(() => (names = readdirSync(folder)))
    return names.length === 0 ? () => false : (path) => this.isMountPoint(path)
  }

  private isMountPoint(path: BytePath): boolean {
    const place = this.placeFolder(path)
    if (place === null || !existsSync(place)) return false
    let names: string[] | undefined
    quietly(() => (names = readdirSync(nodePath(path))))
    return names?.length === 0
  }

  /**
   * Enters this server as a user of the place. `make` makes it, and says whether it was missing; false from here
   * means that it was there already and belongs to no server.
   */
  enter(path: BytePath, make: () => boolean): boolean {
    const place = this.placeFolder(path)
    if (place === null) return make()
    return this.locked(place, () => {
      const isShared = this.isMountPoint(path)
      if (!make() && !isShared) return false
      // Without an entry another server may take the place away early; without the place the command would be open.
      quietly(() => {
        mkdirSync(place, { recursive: true, mode: 0o700 })
        writeFileSync(join(place, this.self), '', { mode: 0o600 })
      })
      return true
    })
  }

  /** Takes this server out. Calls `remove` when no other living server uses the place. */
  leave(path: BytePath, remove: () => void): void {
    const place = this.placeFolder(path)
    if (place === null) return remove()
    this.locked(place, () => {
      quietly(() => unlinkSync(join(place, this.self)))
      if (this.living(place).length > 0) return
      quietly(() => rmdirSync(place))
      remove()
    })
  }

  /** This server's entry for a place, for whoever takes it out when this server is dead; empty without a register. */
  entryOf(path: BytePath): string {
    const place = this.placeFolder(path)
    return place === null ? '' : join(place, this.self)
  }

  private placeFolder(path: BytePath): string | null {
    return this.folder && join(this.folder, createHash('sha256').update(path, 'latin1').digest('hex').slice(0, 32))
  }

  /** Entries of servers that live; those of others are taken out on the way. */
  private living(place: string): string[] {
    let names: string[] = []
    quietly(() => (names = readdirSync(place)))
    return names.filter((name) => {
      if (isAlive(name)) return true
      quietly(() => unlinkSync(join(place, name)))
      return false
    })
  }

  /** Alone among all servers. The lock is a link that says who has it. */
  private locked<T>(place: string, act: () => T): T {
    const lock = `${place}.lock`
    const giveUpAtMs = performance.now() + LOCK_LIMIT_MS
    for (;;) {
      try {
        symlinkSync(this.self, lock)
        break
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return act()
        const isOver = performance.now() > giveUpAtMs
        if (isOver || isOfDead(lock)) takeAway(lock, this.self)
        else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
      }
    }
    try {
      return act()
    } finally {
      quietly(() => unlinkSync(lock))
    }
  }
}

function isOfDead(lock: string): boolean {
  let holder: string | undefined
  quietly(() => (holder = readlinkSync(lock)))
  return holder !== undefined && !isAlive(holder)
}

/** Under another name first, so that of several who wait only one does it. */
function takeAway(lock: string, self: string): void {
  const aside = `${lock}.${self}`
  quietly(() => {
    renameSync(lock, aside)
    rmSync(aside, { recursive: true })
  })
}

/** @param name of an entry: the process and when it was started */
function isAlive(name: string): boolean {
  const [pid = '', start] = name.split('-')
  return readProcStat(Number(pid))?.startTicks === start
}

function quietly(act: () => void): void {
  try {
    act()
  } catch {
    // Somebody else was faster, or the disk is full: the worst that comes of it is an empty folder that stays.
  }
}
