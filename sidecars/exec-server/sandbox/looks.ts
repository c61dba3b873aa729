import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import type { BytePath } from '../../protocol/path-uri.ts'
import { nodePath } from '../files/byte-path.ts'

/** What is at a path itself; a link is not followed. */
export type Kind = 'missing' | 'file' | 'folder' | 'link' | 'other'

/** Longer first lines are as good as none. */
const MAX_LINE_FILE_BYTES = 4_096

/**
 * Looks at places of the file tree, each once. Whatever follows from these looks alone is true for as long as
 * `areTrue()` says so, which costs one system call for each.
 */
export class Looks {
  private readonly seen = new Map<BytePath, Look>()
  private readonly lines = new Map<BytePath, string | undefined>()

  /** @throws an error with the system's code when one may not look there */
  kindOf(path: BytePath): Kind {
    const { kind, error } = this.at(path)
    if (error) throw error
    return kind
  }

  /** The same, where a place that one may not look at is as good as none. */
  kindSeen(path: BytePath): Kind {
    return this.at(path).kind
  }

  /** Null for anything that is not a link. */
  linkTarget(path: BytePath): string | null {
    return this.at(path).target ?? null
  }

  /** The first line of a short file; undefined when there is no such file. */
  firstLine(path: BytePath): string | undefined {
    if (!this.lines.has(path)) this.lines.set(path, readFirstLine(path))
    return this.lines.get(path)
  }

  /** Places that were looked at. */
  get count(): number {
    return this.seen.size
  }

  /** Whether everything that was looked at is still as it was. */
  areTrue(): boolean {
    for (const [path, look] of this.seen) {
      const now = lookAt(path)
      if (
        now.kind !== look.kind ||
        now.target !== look.target ||
        (now.error === undefined) !== (look.error === undefined)
      )
        return false
    }
    for (const [path, line] of this.lines) if (readFirstLine(path) !== line) return false
    return true
  }

  private at(path: BytePath): Look {
    let look = this.seen.get(path)
    if (!look) this.seen.set(path, (look = lookAt(path)))
    return look
  }
}

interface Look {
  kind: Kind
  /** Of a link. */
  target?: string
  error?: Error
}

function lookAt(path: BytePath): Look {
  try {
    const stat = lstatSync(nodePath(path), { throwIfNoEntry: false })
    if (!stat) return { kind: 'missing' }
    if (stat.isDirectory()) return { kind: 'folder' }
    if (stat.isFile()) return { kind: 'file' }
    if (!stat.isSymbolicLink()) return { kind: 'other' }
    return { kind: 'link', target: readlinkSync(nodePath(path), { encoding: 'buffer' }).toString('latin1') }
  } catch (error) {
    return { kind: 'missing', error: error as Error }
  }
}

function readFirstLine(path: BytePath): string | undefined {
  try {
    if (lstatSync(nodePath(path)).size > MAX_LINE_FILE_BYTES) return undefined
    return readFileSync(nodePath(path), 'latin1').split('\n')[0]
  } catch {
    return undefined
  }
}
