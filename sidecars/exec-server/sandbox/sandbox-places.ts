import type { SandboxEntry, SandboxObject } from '../../protocol/exec-sandbox.ts'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import { childOf, isWithin, nameOf } from '../files/byte-path.ts'
import { pathOf } from '../files/file-error.ts'
import { compileGlob, type PathGlob } from '../files/path-glob.ts'
import { WireError } from '../wire/wire-error.ts'
import { repositoryPlaces } from './git-places.ts'
import { Looks } from './looks.ts'
import { linksOnTheWay, namedPlace, realWay } from './real-way.ts'

export type PlaceAccess = 'write' | 'read' | 'denied'

/** Kept from sandboxed writers in every folder they may write: these make other programs run code. */
const PROTECTED_NAMES = ['.git', '.agents', '.codex', '.gatehouse', '.aws']
/** In shared temporary folders, what every git in any folder below would find. */
const PROTECTED_IN_TEMPORARY = ['.git']
/** What any program needs to start: the places of `minimal`. */
const MINIMAL_PLACES = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/usr', '/etc', '/opt', '/nix/store', '/dev']

/** One real place and what may be done there. */
export interface PlaceRule {
  path: BytePath
  access: PlaceAccess
  /** The rule is worth nothing when the place is missing: nobody named it, or it was said to be skipped. */
  isOptional: boolean
  /** Names in it that stay as they are; none for places that are not for writing. */
  protectedNames?: readonly string[]
}
export interface GlobRule {
  pattern: string
  glob: PathGlob
  access: PlaceAccess
}

/** Where the reading of a sandbox object leans on the machine. */
export interface PolicyContext {
  /** `$TMPDIR` of the server, for sandboxes that do not name their own. */
  temporaryDirectories: BytePath[]
  /** Never reachable under any sandbox: our own data folder. */
  denied: BytePath[]
  /** Folders in `denied` that every command may read all the same: the authorities it has to trust. */
  shown?: BytePath[]
}

/**
 * What a sandbox object says about files, with every place resolved. File calls and processes both go
 * by it, so that they agree. The most specific place wins, of two rules for one place the stricter.
 */
export interface SandboxPlaces {
  places: PlaceRule[]
  globs: GlobRule[]
  /** Ours; no entry reaches into them, however specific. */
  sealed: BytePath[]
  /** Below `sealed` and readable for processes, where they exist. */
  shown: BytePath[]
  /** How deep patterns are looked for, when the sandbox says so. */
  globScanDepth: number | undefined
  /** Working directory that the sandbox names. */
  cwd: BytePath | undefined
}

const STRICTNESS = { write: 0, read: 1, denied: 2 }
export const isStricter = (a: PlaceAccess, b: PlaceAccess): boolean => STRICTNESS[a] > STRICTNESS[b]

/**
 * Null when the sandbox leaves files alone.
 * @param looks what the answer rests on, beside the arguments
 * @throws WireError for an entry that cannot be understood
 */
export function resolvePlaces(
  sandbox: SandboxObject | undefined,
  context: PolicyContext,
  looks = new Looks(),
): SandboxPlaces | null {
  if (sandbox?.permissions.type !== 'managed') return null
  const { file_system: files } = sandbox.permissions
  if (files.type === 'unrestricted') return null
  const named = files.entries.flatMap((entry) => namedRules(entry, sandbox, context))
  const places = withoutWidening(named, looks).flatMap((rule) =>
    anchorsOf(rule.path, looks).map((path): PlaceRule => ({ ...rule, path })),
  )
  places.push(...protectedPlaces(places, [cwdOf(sandbox), rootsOf(sandbox)].flat(), looks))
  return {
    places,
    globs: files.entries.flatMap((entry) => globRules(entry, sandbox)),
    sealed: sealedIn(context, looks),
    shown: shownIn(context, looks),
    globScanDepth: files.glob_scan_max_depth,
    cwd: cwdOf(sandbox)[0],
  }
}

/** The same for a process: without rules about files it may do what its user may, but not to what is ours. */
export function placesOrAll(
  sandbox: SandboxObject | undefined,
  context: PolicyContext,
  looks = new Looks(),
): SandboxPlaces {
  const root: PlaceRule = { path: '/' as BytePath, access: 'write', isOptional: false }
  return (
    resolvePlaces(sandbox, context, looks) ?? {
      places: [root],
      globs: [],
      sealed: sealedIn(context, looks),
      shown: shownIn(context, looks),
      globScanDepth: undefined,
      cwd: undefined,
    }
  )
}

const sealedIn = ({ denied }: PolicyContext, looks: Looks): BytePath[] =>
  denied.flatMap((path) => anchorsOf(path, looks))
const shownIn = ({ shown = [] }: PolicyContext, looks: Looks): BytePath[] => shown.map((path) => realWay(path, looks))

const accessOf = (entry: SandboxEntry): PlaceAccess =>
  entry.access === 'none' || entry.access === 'deny' ? 'denied' : entry.access

function namedRules(entry: SandboxEntry, sandbox: SandboxObject, context: PolicyContext): PlaceRule[] {
  const isOptional = entry.missing_path_behavior === 'skip'
  const access = accessOf(entry)
  const kind = entry.path.type === 'special' ? entry.path.value.kind : undefined
  const isTemporary = kind === 'tmpdir' || kind === 'slash_tmp'
  const protectedNames = access === 'write' ? (isTemporary ? PROTECTED_IN_TEMPORARY : PROTECTED_NAMES) : undefined
  return placesOf(entry, sandbox, context).map((path) => ({ path, access, isOptional, protectedNames }))
}

/**
 * Leaves out what is reached only through a link that lies where the command may write: whoever made
 * the link would otherwise choose what a later command may reach.
 */
function withoutWidening(rules: PlaceRule[], looks: Looks): PlaceRule[] {
  const writable = rules
    .filter(({ path, access }) => access === 'write' && path !== '/' && realWay(path, looks) === path)
    .map(({ path }) => path)
  const isTrusted = ({ path, access }: PlaceRule) =>
    access === 'denied' ||
    realWay(path, looks) === path ||
    !linksOnTheWay(path, looks).some((link) => writable.some((folder) => link !== folder && isWithin(link, folder)))
  return rules.filter(isTrusted)
}

/** Inside what may be written, what stays as it is unless an entry speaks of exactly that place. */
function protectedPlaces(places: readonly PlaceRule[], projectFolders: readonly BytePath[], looks: Looks): PlaceRule[] {
  const isNamed = (path: BytePath) => places.some((rule) => rule.path === path)
  const kept = places.flatMap(({ path, protectedNames = [] }) =>
    path === '/' || PROTECTED_NAMES.includes(nameOf(path)) ? [] : protectedNames.map((name) => childOf(path, name)),
  )
  const git = repositoryPlaces(places, projectFolders, looks)
  return [...kept, ...git]
    .filter((path) => !isNamed(path))
    .flatMap((path) => anchorsOf(path, looks))
    .map((path): PlaceRule => ({ path, access: 'read', isOptional: true }))
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

function globRules(entry: SandboxEntry, sandbox: SandboxObject): GlobRule[] {
  if (entry.path.type !== 'glob_pattern') return []
  const bytes = Buffer.from(entry.path.pattern, 'utf8').toString('latin1')
  const patterns = bytes.startsWith('/')
    ? [bytes]
    : [...new Set([...cwdOf(sandbox), ...rootsOf(sandbox)])].map((base) => `${escapeGlob(base)}/${bytes}`)
  return patterns.map((pattern) => ({ pattern, glob: compile(pattern), access: accessOf(entry) }))
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
 * Where a rule holds: at the place as named (so that a link there cannot be exchanged) and at what it
 * leads to. Judged paths are real ones, so the way to the place is followed.
 */
function anchorsOf(path: BytePath, looks: Looks): BytePath[] {
  const real = realWay(path, looks)
  // Then there is no link on the way either.
  if (real === path) return [real]
  const named = namedPlace(path, looks)
  return named === real ? [real] : [named, real]
}
