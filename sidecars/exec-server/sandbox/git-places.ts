import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { childOf, isWithin, nameOf, parentOf } from '../files/byte-path.ts'
import type { Looks } from './looks.ts'
import { realWay } from './real-way.ts'
import type { PlaceRule } from './sandbox-places.ts'

/** In a repository's own folder, what makes git run programs: these stay as they are even where git may write. */
const EXECUTING_NAMES = ['hooks', 'config']
/** As above, but git takes anything else than a file there for an error, so it is only kept when it exists. */
const EXECUTING_FILE = 'config.worktree'

/**
 * Places of git that a command must not change although they lie in what it may write: hooks and
 * settings of the repositories that the project folders belong to, also when they are worktrees of a
 * repository elsewhere. Whatever is written there is run by the next git outside of the sandbox.
 */
export function repositoryPlaces(
  places: readonly PlaceRule[],
  projectFolders: readonly BytePath[],
  looks: Looks,
): BytePath[] {
  const writable = places.filter(({ access }) => access === 'write').map(({ path }) => path)
  const granted = writable.filter((path) => nameOf(path) === '.git')
  const found = projectFolders.flatMap((folder) => repositoriesOf(realWay(folder, looks), looks))
  const repositories = [...new Set([...granted, ...found])].filter((path) =>
    writable.some((root) => isWithin(path, root)),
  )
  return repositories.flatMap((repository) => executingPlaces(repository, looks))
}

function executingPlaces(repository: BytePath, looks: Looks): BytePath[] {
  const file = childOf(repository, EXECUTING_FILE)
  const isThere = looks.kindOf(file) !== 'missing'
  return [...EXECUTING_NAMES.map((name) => childOf(repository, name)), ...(isThere ? [file] : [])]
}

/** The repository folder of the nearest `.git` upwards; for a worktree its own and the common one. */
function repositoriesOf(folder: BytePath, looks: Looks): BytePath[] {
  for (let at = folder; ; at = parentOf(at)) {
    const dotGit = childOf(at, '.git')
    const kind = looks.kindOf(dotGit)
    if (kind === 'folder') return [dotGit]
    if (kind === 'file') return pointedTo(dotGit, looks)
    if (at === '/') return []
  }
}

/** `.git` of a worktree or submodule is one short line. */
function pointedTo(pointer: BytePath, looks: Looks): BytePath[] {
  const target = looks.firstLine(pointer)?.match(/^gitdir: (.+)$/)?.[1]
  if (target === undefined) return []
  const own = realWay(resolveFrom(parentOf(pointer), target), looks)
  const common = looks.firstLine(childOf(own, 'commondir'))
  return common === undefined ? [own] : [own, realWay(resolveFrom(own, common), looks)]
}

const resolveFrom = (folder: BytePath, target: string): BytePath => {
  const joined = target.startsWith('/') ? target : `${folder}/${target}`
  return pathOfText(Buffer.from(joined, 'latin1').toString('utf8'))
}
