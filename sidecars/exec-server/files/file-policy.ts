import { realpathSync } from 'node:fs'
import type { SandboxEntry, SandboxObject } from '../../protocol/exec-sandbox.ts'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { WireError } from '../wire/wire-error.ts'
import { childOf, isWithin, nameOf, nodePath, parentOf } from './byte-path.ts'
import { osError, pathOf } from './file-error.ts'
import { compileGlob, type PathGlob } from './path-glob.ts'

/**
 * What a sandbox says about one place. `hidden`: no entry speaks of it, it is as if it did not exist;
 * `passage`: hidden itself, but a way to something that is not.
 */
export type FileAccess = 'write' | 'read' | 'denied' | 'hidden' | 'passage'

/** Kept from sandboxed writers in every folder they may write: these make other programs run code. */
const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.aws']
/** What any program needs to start: the places of `minimal`. */
const MINIMAL_PLACES = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/usr', '/etc', '/opt', '/nix/store', '/dev']
/** Holds the environment and memory of every process of the owner, this one's first. */
const PROCESS_PLACE = '/proc'

interface PlaceRule {
  path: BytePath
  access: 'write' | 'read' | 'denied'
}
interface GlobRule {
  glob: PathGlob
  access: 'write' | 'read' | 'denied'
}
export interface PolicyContext {
  /** `$TMPDIR` of the server, for sandboxes that do not name their own. */
  temporaryDirectories: BytePath[]
  /** Never reachable under any sandbox: our own data folder. */
  denied: BytePath[]
}

/**
 * The file rules of one sandbox object. It judges real paths, after every link was followed; the most
 * specific entry wins, and where two speak of the same place the stricter does.
 */
export class FilePolicy {
  private constructor(
    private readonly places: PlaceRule[],
    private readonly globs: GlobRule[],
  ) {}

  /**
   * Null when the sandbox leaves files alone.
   * @throws WireError for an entry that cannot be understood
   */
  static of(sandbox: SandboxObject | undefined, context: PolicyContext): FilePolicy | null {
    if (sandbox?.permissions.type !== 'managed') return null
    const { file_system: files } = sandbox.permissions
    if (files.type === 'unrestricted') return null
    const places: PlaceRule[] = []
    for (const place of [pathOfText(PROCESS_PLACE), ...context.denied]) addPlace(places, place, 'denied')
    const globs: GlobRule[] = []
    for (const entry of files.entries) addEntry(entry, sandbox, context, places, globs)
    return new FilePolicy(places, globs)
  }

  accessTo(path: BytePath): FileAccess {
    let best: PlaceRule | undefined
    for (const rule of this.places) {
      if (!isWithin(path, rule.path)) continue
      if (!best || rule.path.length > best.path.length || (rule.path === best.path && isStricter(rule, best)))
        best = rule
    }
    for (const { glob, access } of this.globs) if (access === 'denied' && glob.covers(path)) return 'denied'
    if (best) return best.access
    for (const { glob, access } of this.globs) if (glob.covers(path)) return access
    return this.places.some((rule) => rule.access !== 'denied' && isWithin(rule.path, path)) ? 'passage' : 'hidden'
  }

  /** @throws WireError unless the content may be read */
  requireRead(path: BytePath): void {
    const access = this.accessTo(path)
    if (access === 'denied') throw osError('EACCES')
    if (access === 'hidden' || access === 'passage') throw osError('ENOENT')
  }

  /** @throws WireError unless the place may be seen at all */
  requireLook(path: BytePath): void {
    const access = this.accessTo(path)
    if (access === 'denied') throw osError('EACCES')
    if (access === 'hidden') throw osError('ENOENT')
  }

  /** @throws WireError unless the place may be created, changed or removed */
  requireWrite(path: BytePath): void {
    const access = this.accessTo(path)
    if (access === 'hidden') throw osError('ENOENT')
    if (access !== 'write') throw osError('EROFS')
  }

  isVisible(path: BytePath): boolean {
    const access = this.accessTo(path)
    return access !== 'hidden' && access !== 'denied'
  }

  /** True when something below `folder` may not be written, so that it cannot be taken away whole. */
  protectsBelow(folder: BytePath): boolean {
    return this.places.some((rule) => rule.access !== 'write' && rule.path !== folder && isWithin(rule.path, folder))
  }
}

const STRICTNESS = { write: 0, read: 1, denied: 2 }
const isStricter = (a: PlaceRule, b: PlaceRule) => STRICTNESS[a.access] > STRICTNESS[b.access]

function addEntry(
  entry: SandboxEntry,
  sandbox: SandboxObject,
  context: PolicyContext,
  places: PlaceRule[],
  globs: GlobRule[],
): void {
  const access = entry.access === 'none' || entry.access === 'deny' ? 'denied' : entry.access
  if (entry.path.type === 'glob_pattern') {
    for (const pattern of absolutePatterns(entry.path.pattern, sandbox)) globs.push({ glob: compile(pattern), access })
    return
  }
  for (const path of placesOf(entry, sandbox, context)) {
    addPlace(places, path, access)
    if (access !== 'write' || path === '/') continue
    for (const name of PROTECTED_NAMES) {
      const kept = childOf(path, name)
      if (!isNamedBy(sandbox, context, kept)) addPlace(places, kept, 'read')
    }
  }
}

function addPlace(places: PlaceRule[], place: BytePath, access: PlaceRule['access']): void {
  for (const path of anchorsOf(place)) places.push({ path, access })
}

/** True when the sandbox has an entry for exactly this place; then that entry decides. */
function isNamedBy(sandbox: SandboxObject, context: PolicyContext, path: BytePath): boolean {
  const { permissions } = sandbox
  if (permissions.type !== 'managed' || permissions.file_system.type !== 'restricted') return false
  return permissions.file_system.entries.some(
    (entry) => entry.path.type !== 'glob_pattern' && placesOf(entry, sandbox, context).includes(path),
  )
}

function placesOf(entry: SandboxEntry, sandbox: SandboxObject, context: PolicyContext): BytePath[] {
  if (entry.path.type === 'path') return [pathOf(entry.path.path)]
  if (entry.path.type !== 'special') return []
  const { kind, subpath } = entry.path.value
  const bases = specialPlaces(kind, sandbox, context)
  return subpath === undefined ? bases : bases.map((base) => joinBelow(base, subpath))
}

function specialPlaces(kind: string, sandbox: SandboxObject, context: PolicyContext): BytePath[] {
  switch (kind) {
    case 'root':
      return [pathOfText('/')]
    case 'minimal':
      return MINIMAL_PLACES.map(pathOfText)
    case 'current_working_directory':
      return cwdOf(sandbox)
    case 'project_roots':
      return rootsOf(sandbox)
    case 'tmpdir':
      return sandbox.temporaryDirectories?.map(pathOf) ?? context.temporaryDirectories
    case 'slash_tmp':
      return [pathOfText('/tmp')]
    default:
      // `unknown` grants nothing; what it would deny is not granted by anything else either way.
      return []
  }
}

function cwdOf(sandbox: SandboxObject): BytePath[] {
  const uri = sandbox.policyContext?.cwd ?? sandbox.cwd
  return uri === undefined ? [] : [pathOf(uri)]
}

function rootsOf(sandbox: SandboxObject): BytePath[] {
  const uris = sandbox.policyContext?.workspaceRoots ?? sandbox.workspaceRoots
  return uris === undefined ? cwdOf(sandbox) : uris.map(pathOf)
}

/** A subpath never leads out of its base. */
function joinBelow(base: BytePath, subpath: string): BytePath {
  const joined = pathOfText(`/${Buffer.from(base, 'latin1').toString('utf8')}/${subpath}`)
  if (!isWithin(joined, base))
    throw new WireError('invalidRequest', `sandbox subpath "${subpath}" leads out of its place`)
  return joined
}

function absolutePatterns(pattern: string, sandbox: SandboxObject): string[] {
  const bytes = Buffer.from(pattern, 'utf8').toString('latin1')
  if (bytes.startsWith('/')) return [bytes]
  return [...new Set([...cwdOf(sandbox), ...rootsOf(sandbox)])].map((base) => `${escapeGlob(base)}/${bytes}`)
}

const escapeGlob = (path: string) => path.replace(/[\\*?[\]{}!]/g, '\\$&')

function compile(pattern: string): PathGlob {
  try {
    return compileGlob(pattern)
  } catch (error) {
    throw new WireError('invalidRequest', `sandbox pattern "${pattern.slice(0, 80)}": ${(error as Error).message}`)
  }
}

/**
 * Where an entry holds: at the place as named (so that a link there cannot be exchanged) and at what
 * it leads to. Judged paths are real ones, so the way to the place is followed; a missing place stands
 * as written below the part that exists.
 */
function anchorsOf(path: BytePath): BytePath[] {
  if (path === '/') return [path]
  const named = childOf(realWay(parentOf(path)), nameOf(path))
  const real = realWay(path)
  return named === real ? [real] : [named, real]
}

function realWay(path: BytePath): BytePath {
  try {
    return realpathSync.native(nodePath(path), { encoding: 'buffer' }).toString('latin1') as BytePath
  } catch {
    return path === '/' ? path : childOf(realWay(parentOf(path)), nameOf(path))
  }
}
