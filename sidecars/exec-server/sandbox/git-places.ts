import { lstatSync, readFileSync } from 'node:fs'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { childOf, isWithin, nameOf, nodePath, parentOf } from '../files/byte-path.ts'
import { realWay } from './real-way.ts'
import type { PlaceRule } from './sandbox-places.ts'

/** In a repository's own folder, what makes git run programs: these stay as they are even where git may write. */
const EXECUTING_NAMES = ['hooks', 'config']
/** As above, but git takes anything else than a file there for an error, so it is only kept when it exists. */
const EXECUTING_FILE = 'config.worktree'
/** `.git` of a worktree or submodule is one short line. */
const MAX_POINTER_BYTES = 4_096

/**
 * Places of git that a command must not change although they lie in what it may write: hooks and
 * settings of the repositories that the project folders belong to, also when they are worktrees of a
 * repository elsewhere. Whatever is written there is run by the next git outside of the sandbox.
 */
export function repositoryPlaces(places: readonly PlaceRule[], projectFolders: readonly BytePath[]): BytePath[] {
  const writable = places.filter(({ access }) => access === 'write').map(({ path }) => path)
  const granted = writable.filter((path) => nameOf(path) === '.git')
  const found = projectFolders.flatMap((folder) => repositoriesOf(realWay(folder)))
  const repositories = [...new Set([...granted, ...found])].filter((path) =>
    writable.some((root) => isWithin(path, root)),
  )
  return repositories.flatMap((repository) => executingPlaces(repository))
}

function executingPlaces(repository: BytePath): BytePath[] {
  const file = childOf(repository, EXECUTING_FILE)
  const isThere = lstatSync(nodePath(file), { throwIfNoEntry: false }) !== undefined
  return [...EXECUTING_NAMES.map((name) => childOf(repository, name)), ...(isThere ? [file] : [])]
}

/** The repository folder of the nearest `.git` upwards; for a worktree its own and the common one. */
function repositoriesOf(folder: BytePath): BytePath[] {
  for (let at = folder; ; at = parentOf(at)) {
    const dotGit = childOf(at, '.git')
    const stat = lstatSync(nodePath(dotGit), { throwIfNoEntry: false })
    if (stat?.isDirectory()) return [dotGit]
    if (stat?.isFile()) return pointedTo(dotGit)
    if (at === '/') return []
  }
}

function pointedTo(pointer: BytePath): BytePath[] {
  const target = firstLine(pointer)?.match(/^gitdir: (.+)$/)?.[1]
  if (target === undefined) return []
  const own = realWay(resolveFrom(parentOf(pointer), target))
  const common = firstLine(childOf(own, 'commondir'))
  return common === undefined ? [own] : [own, realWay(resolveFrom(own, common))]
}

function firstLine(path: BytePath): string | undefined {
  try {
    if (lstatSync(nodePath(path)).size > MAX_POINTER_BYTES) return undefined
    return readFileSync(nodePath(path), 'latin1').split('\n')[0]
  } catch {
    return undefined
  }
}

const resolveFrom = (folder: BytePath, target: string): BytePath => {
  const joined = target.startsWith('/') ? target : `${folder}/${target}`
  return pathOfText(Buffer.from(joined, 'latin1').toString('utf8'))
}
