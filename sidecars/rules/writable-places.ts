/** Where files may be written without asking: real paths, after every link on the way was followed. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'

export interface WritablePlaces {
  /** Absolute folders below which writing is allowed. */
  roots: readonly string[]
  /** Below a root and still not to be written. */
  protected?: readonly string[]
}

/** Folders in a project whose files are run, or read as configuration, by programs that trust them. */
export const PROTECTED_NAMES: readonly string[] = ['.git', '.agents', '.codex', '.claude', '.gatehouse', '.aws']
const MOST_LINKS = 40

/**
 * Which of some real, absolute paths lie outside every root, inside a protected folder, or below a folder
 * of a protected name.
 */
export function pathsOutside(
  paths: readonly string[],
  roots: readonly string[],
  protectedPaths: readonly string[],
): string[] {
  return paths.filter(
    (path) => !roots.some((root) => isBelow(path, root)) || protectedPaths.some((root) => isBelow(path, root)),
  )
}

/** Whether a file that a command names in `cwd` lies where it may be written. */
export function mayWrite(path: string, cwd: string, { roots, protected: closed = [] }: WritablePlaces): boolean {
  const real = realTarget(resolve(cwd, path))
  if (real === undefined) return false
  const realRoots = roots.map((root) => realTarget(root) ?? root)
  const realClosed = closed.map((place) => realTarget(place) ?? place)
  if (pathsOutside([real], realRoots, realClosed).length > 0) return false
  const root = realRoots.find((candidate) => isBelow(real, candidate)) ?? ''
  return !real
    .slice(root.length)
    .split('/')
    .some((part) => PROTECTED_NAMES.includes(part))
}

/**
 * The path that writing to `path` would reach: links of existing parents and of the file itself followed,
 * also where what they point to does not exist yet. Undefined for a circle or a path that cannot be read.
 */
export function realTarget(path: string, links = 0): string | undefined {
  if (!isAbsolute(path) || links > MOST_LINKS) return undefined
  try {
    return realpathSync.native(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
  }
  const parent = dirname(path)
  if (parent === path) return path
  const realParent = realTarget(parent, links + 1)
  if (realParent === undefined) return undefined
  const here = join(realParent, basename(path))
  try {
    // A link whose target is missing: writing makes the target.
    if (lstatSync(here).isSymbolicLink()) return realTarget(resolve(realParent, readlinkSync(here)), links + 1)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return undefined
  }
  return here
}

const isBelow = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)
