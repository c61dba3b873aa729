import { readdirSync, type Dirent } from 'node:fs'
import type { BytePath } from '../../protocol/path-uri.ts'
import { childOf, nodePath } from '../files/byte-path.ts'
import { realWay } from './real-way.ts'
import type { GlobRule, PlaceAccess, SandboxPlaces } from './sandbox-places.ts'
import { preparationFailed } from './sandbox.ts'

/** How deep patterns are looked for when the sandbox does not say. */
const DEFAULT_DEPTH = 16
/** A look at this many names takes about half a second. */
const MAX_NAMES = 100_000

/**
 * What the patterns of one access match at this moment, topmost places only. Links are not followed: a
 * pattern is about names, and what a link leads to has another.
 * @throws WireError `sandboxPreparation` when there is too much to look at: then nothing can be promised
 */
export function expandGlobs({ globs, globScanDepth }: SandboxPlaces, access: PlaceAccess): BytePath[] {
  const found = new Set<BytePath>()
  const budget = { names: MAX_NAMES }
  for (const rule of globs) if (rule.access === access) scan(rule, globScanDepth ?? DEFAULT_DEPTH, budget, found)
  return [...found]
}

function scan(rule: GlobRule, depth: number, budget: { names: number }, found: Set<BytePath>): void {
  const base = fixedFolder(rule.pattern)
  // Judged by the name it was given, mounted at the real place.
  const pending: { given: BytePath; real: BytePath; depth: number }[] = [{ given: base, real: realWay(base), depth }]
  for (let folder = pending.pop(); folder; folder = pending.pop()) {
    if (rule.glob.covers(folder.given)) {
      found.add(folder.real)
      continue
    }
    for (const entry of entriesOf(folder.real)) {
      if (--budget.names < 0)
        throw preparationFailed(
          `the pattern ${rule.pattern} has more than ${MAX_NAMES} names to look at; give it a narrower folder or a glob_scan_max_depth`,
        )
      const name = entry.name.toString('latin1')
      const below = { given: childOf(folder.given, name), real: childOf(folder.real, name), depth: folder.depth - 1 }
      if (rule.glob.covers(below.given)) found.add(below.real)
      else if (entry.isDirectory() && below.depth > 0) pending.push(below)
    }
  }
}

/** The part of a pattern before its first special character, up to a whole folder. */
function fixedFolder(pattern: string): BytePath {
  const special = pattern.search(/[*?[{\\]/)
  const fixed = special < 0 ? pattern : pattern.slice(0, pattern.lastIndexOf('/', special))
  return (fixed.replace(/\/+$/, '') || '/') as BytePath
}

function entriesOf(folder: BytePath): Dirent<Buffer>[] {
  try {
    return readdirSync(nodePath(folder), { withFileTypes: true, encoding: 'buffer' }) as unknown as Dirent<Buffer>[]
  } catch {
    // Not a folder, or one that the command could not list either.
    return []
  }
}
