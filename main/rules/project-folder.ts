import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PROJECT_RULES } from '../../sidecars/rules/foreign-folders.ts'
import { realTarget } from '../../sidecars/rules/writable-places.ts'

/** A project that gets such a folder is noticed this late. */
const REMEMBERED_MS = 5_000
const MOST_REMEMBERED = 500

const found = new Map<string, { root: string | undefined; untilMs: number }>()

/**
 * The project with rules of its own that a folder belongs to: the nearest folder from there upwards that
 * holds `.gatehouse/rules`, as a real path. The owner's own rules (`ownRules`) are no project's.
 */
export function findProject(cwd: string, ownRules: string): string | undefined {
  const known = found.get(cwd)
  if (known && known.untilMs > performance.now()) return known.root
  const root = searchUpwards(cwd, realTarget(ownRules) ?? ownRules)
  if (found.size >= MOST_REMEMBERED) found.clear()
  found.set(cwd, { root, untilMs: performance.now() + REMEMBERED_MS })
  return root
}

function searchUpwards(cwd: string, ownRules: string): string | undefined {
  for (let folder = realTarget(cwd); folder !== undefined; folder = parentOf(folder)) {
    const rules = join(folder, PROJECT_RULES)
    if (isFolder(rules) && realTarget(rules) !== ownRules) return folder
  }
  return undefined
}

function parentOf(folder: string): string | undefined {
  const parent = dirname(folder)
  return parent === folder ? undefined : parent
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
