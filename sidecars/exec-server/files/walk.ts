import { lstat } from 'node:fs/promises'
import type { WalkOptions, WalkResult } from '../../protocol/exec-files.ts'
import { formatPathUri, type BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { childrenOf, locateListable, type Child } from './folders.ts'
import { toFileError } from './file-error.ts'
import { factsOf, locateEntry, locateVisible, withPlace, type Reach } from './place.ts'

const MAX = { depth: 64, directories: 10_000, entries: 50_000 }

interface Folder {
  path: BytePath
  depth: number
}

/**
 * `fs/walk`: breadth first, siblings by name, the root itself not listed. Links are left out, but for
 * links to folders when they are to be followed; each real folder is entered once.
 */
export async function walk(root: BytePath, options: WalkOptions, reach: Reach): Promise<WalkResult> {
  if (options.maxDepth > MAX.depth || options.maxDirectories > MAX.directories || options.maxEntries > MAX.entries)
    throw new WireError(
      'invalidRequest',
      `filesystem walk limits exceed maximums: depth=${MAX.depth}, directories=${MAX.directories}, entries=${MAX.entries}`,
    )
  if (options.maxDirectories === 0 || options.maxEntries === 0)
    throw new WireError('invalidRequest', 'filesystem walk limits must be greater than zero')
  if (!(await isWalkable(root, options, reach))) return { entries: [], errors: [], truncated: false }
  return new Walk(options, reach).from(root)
}

async function isWalkable(root: BytePath, options: WalkOptions, reach: Reach): Promise<boolean> {
  const isFolder = await withPlace(locateVisible(root, reach), async (place) => (await factsOf(place)).isDirectory())
  if (!isFolder || options.followDirectorySymlinks || root === '/') return isFolder
  return withPlace(locateEntry(root, reach), async (entry) => !(await lstat(entry.fsPath)).isSymbolicLink())
}

class Walk {
  private readonly result: WalkResult = { entries: [], errors: [], truncated: false }
  private readonly entered = new Set<string>()
  private readonly queue: Folder[] = []
  private directories = 0
  /** What counts for `maxEntries`: the unlisted as well. */
  private met = 0

  constructor(
    private readonly options: WalkOptions,
    private readonly reach: Reach,
  ) {}

  async from(root: BytePath): Promise<WalkResult> {
    this.queue.push({ path: root, depth: 0 })
    for (let folder = this.queue.shift(); folder && !this.result.truncated; folder = this.queue.shift()) {
      if (this.directories === this.options.maxDirectories) {
        this.result.truncated = true
        break
      }
      try {
        await this.enter(folder)
      } catch (error) {
        const { message } = toFileError(error) as Error
        this.result.errors.push({ path: formatPathUri(folder.path), message })
      }
    }
    return this.result
  }

  private async enter({ path, depth }: Folder): Promise<void> {
    await withPlace(locateListable(path, this.reach), async (place) => {
      const { dev, ino } = await factsOf(place)
      const identity = `${dev}:${ino}`
      if (this.entered.has(identity)) return
      this.entered.add(identity)
      this.directories++
      const children = await childrenOf(place, this.reach)
      children.sort((a, b) => (a.name < b.name ? -1 : 1))
      for (const child of children) {
        const kind = await this.kindOf(child)
        if (!kind) continue
        if (this.met++ === this.options.maxEntries) {
          this.result.truncated = true
          return
        }
        if (kind === 'unlisted') continue
        // Under the name that was asked for, not the one a pinned place really has.
        const childPath = `${path === '/' ? '' : path}/${child.name}` as BytePath
        this.result.entries.push({ path: formatPathUri(childPath), kind })
        if (kind === 'directory' && depth < this.options.maxDepth && !this.isPruned(child))
          this.queue.push({ path: childPath, depth: depth + 1 })
      }
    })
  }

  /** Null for a link that leads nowhere one may see. */
  private async kindOf({ entry, path }: Child): Promise<'file' | 'directory' | 'unlisted' | null> {
    if (entry.isFile()) return 'file'
    if (entry.isDirectory()) return 'directory'
    if (!entry.isSymbolicLink()) return 'unlisted'
    try {
      const leadsToFolder = await withPlace(locateVisible(path, this.reach), async (place) =>
        (await factsOf(place)).isDirectory(),
      )
      return leadsToFolder && this.options.followDirectorySymlinks ? 'directory' : 'unlisted'
    } catch {
      return null
    }
  }

  private isPruned({ name }: Child): boolean {
    return this.options.pruneHiddenDirectories && name.startsWith('.')
  }
}
