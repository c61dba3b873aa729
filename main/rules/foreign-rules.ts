import { join } from 'node:path'
import { realTarget } from '../../sidecars/rules/writable-places.ts'
import type { ForeignFolder } from '../../sidecars/rules/foreign-folders.ts'
import type { ScopedRules } from '../../sidecars/rules/rules-in-force.ts'
import { RuleFolder, type LoadedRules } from './rule-folder.ts'

interface Opened {
  folder: RuleFolder
  /** As a real path, once it is known. */
  below: string | null
}

/** Rules of trusted projects, and of other programs where the owner wants that. */
export class ForeignRules {
  private opened = new Map<string, Opened>()

  constructor(private readonly onChanged: () => void) {}

  /** Reads exactly these folders from now on. Resolves when their rules are in force. */
  async use(folders: readonly ForeignFolder[]): Promise<void> {
    const next = new Map<string, Opened>()
    const starting: Promise<void>[] = []
    for (const { path, below } of folders) {
      const known = this.opened.get(path)
      const folder = known?.folder ?? new RuleFolder(path, this.onChanged, { isForeign: true })
      next.set(path, { folder, below: below === null ? null : (realTarget(below) ?? below) })
      if (!known) starting.push(folder.start())
    }
    const left = [...this.opened].filter(([path]) => !next.has(path))
    this.opened = next
    for (const [, { folder }] of left) folder.stop()
    await Promise.all(starting)
    this.onChanged()
  }

  stop(): void {
    for (const { folder } of this.opened.values()) folder.stop()
  }

  /** Everything that is read, wherever it holds. */
  all(): LoadedRules {
    return joined([...this.opened.values()])
  }

  /** The same with the folders below which it holds. */
  scoped(): ScopedRules[] {
    return [...this.opened.values()].map(({ folder, below }) => ({ ...folder.current(), below }))
  }

  /** Whether a file, as named in a rule's place, belongs to one of these folders. */
  has(file: string): boolean {
    return [...this.opened.keys()].some((path) => file.startsWith(join(path, '/')))
  }
}

function joined(opened: readonly Opened[]): LoadedRules {
  const loaded = opened.map(({ folder }) => folder.current())
  return {
    rules: loaded.flatMap(({ rules }) => rules),
    executables: loaded.flatMap(({ executables }) => executables),
    problems: loaded.flatMap(({ problems }) => problems),
    fileCount: loaded.reduce((sum, { fileCount }) => sum + fileCount, 0),
  }
}
