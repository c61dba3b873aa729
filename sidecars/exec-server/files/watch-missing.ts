import { lstatSync, watch, type FSWatcher } from 'node:fs'
import type { BytePath } from '../../protocol/path-uri.ts'
import type { Disposable } from '../wire/wire-connection.ts'
import { childOf, nodePath, parentOf } from './byte-path.ts'

/** More folders than this are not worth the system's watches; the client polls instead. */
const MAX_FOLDERS = 512

/**
 * A connection's one watch on paths that do not exist. A new one replaces it when its id is greater
 * than every earlier one; it fires once and is gone.
 */
export class MissingWatch implements Disposable {
  /** As the reference server: an id begins at 1. */
  private highestId = 0
  private current: WatchRun | undefined

  constructor(private readonly onChange: (watchId: number) => void) {}

  /**
   * False: stale id, nothing to wait for, a link on the way (it can be turned elsewhere without a sign where we
   * watch), or the system has no watches left.
   */
  start(watchId: number, missing: BytePath[], present: BytePath | null): boolean {
    // One beyond safe range is not the number that the client sent, and could not be told back to it.
    if (watchId <= this.highestId || watchId === Number.MAX_SAFE_INTEGER) return false
    this.highestId = watchId
    this.dispose()
    if (missing.length === 0 || missing.some(exists) || (present !== null && !exists(present))) return false
    if (missing.some(hasDetour) || (present !== null && (hasDetour(present) || isLink(present)))) return false
    const run = new WatchRun(missing, present, () => {
      if (this.current !== run) return
      this.dispose()
      this.onChange(watchId)
    })
    this.current = run
    if (run.start()) return true
    this.dispose()
    return false
  }

  dispose(): void {
    this.current?.dispose()
    this.current = undefined
  }
}

class WatchRun implements Disposable {
  private readonly watchers = new Map<BytePath, FSWatcher>()
  /** The first path on the way to each missing one that does not exist: its coming is the change. */
  private awaited: BytePath[] = []

  constructor(
    private readonly missing: BytePath[],
    private readonly present: BytePath | null,
    private readonly fire: () => void,
  ) {}

  /** False when a folder cannot be watched. */
  start(): boolean {
    this.awaited = [...new Set(this.missing.map(firstMissing))]
    const folders = new Set([...this.awaited, ...(this.present === null ? [] : [this.present])].map(parentOf))
    if (folders.size > MAX_FOLDERS) return false
    try {
      for (const folder of folders) this.watchFolder(folder)
    } catch {
      return false
    }
    // What happened before the watches stood.
    this.check()
    return true
  }

  dispose(): void {
    for (const watcher of this.watchers.values()) watcher.close()
    this.watchers.clear()
  }

  private watchFolder(folder: BytePath): void {
    const watcher = watch(nodePath(folder), { persistent: false, encoding: 'buffer' }, () => this.check())
    watcher.on('error', () => this.fire())
    this.watchers.set(folder, watcher)
  }

  private check(): void {
    // A folder that is taken away under its watch leaves nothing to watch: the client looks again.
    const isGone = [...this.watchers.keys()].some((folder) => !exists(folder))
    if (isGone || this.awaited.some(exists) || (this.present !== null && !exists(this.present))) this.fire()
  }
}

function firstMissing(path: BytePath): BytePath {
  let at = '/' as BytePath
  for (const segment of path.split('/').filter((s) => s !== '')) {
    at = childOf(at, segment)
    if (!exists(at)) return at
  }
  return path
}

/** Whether something above a path is there and no folder: a link, or a file where a folder may come. */
function hasDetour(path: BytePath): boolean {
  for (let at = path; at !== '/';) {
    at = parentOf(at)
    if (exists(at) && !lstatSync(nodePath(at), { throwIfNoEntry: false })?.isDirectory()) return true
  }
  return false
}

function isLink(path: BytePath): boolean {
  return lstatSync(nodePath(path), { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function exists(path: BytePath): boolean {
  try {
    return lstatSync(nodePath(path), { throwIfNoEntry: false }) !== undefined
  } catch {
    // Not a folder on the way, or closed to us: as good as missing.
    return false
  }
}
