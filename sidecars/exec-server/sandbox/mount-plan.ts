import type { BytePath } from '../../protocol/path-uri.ts'
import { displayPath, isWithin, parentOf } from '../files/byte-path.ts'
import { expandGlobs } from './glob-expansion.ts'
import type { Looks } from './looks.ts'
import { isStricter, type PlaceAccess, type PlaceRule, type SandboxPlaces } from './sandbox-places.ts'
import { preparationFailed } from './sandbox.ts'

/** What is at a place of the file tree that a command sees. */
export type Mount =
  | { kind: 'write' | 'read'; path: BytePath }
  /** A folder that can neither be listed nor written; `leadsOn` when something below it is visible. */
  | { kind: 'hiddenFolder'; path: BytePath; leadsOn: boolean }
  | { kind: 'hiddenFile'; path: BytePath }
  /** Nothing is there, and nothing can be put there: an empty folder takes the place for as long as it runs. */
  | { kind: 'vacant'; path: BytePath }
  | { kind: 'link'; path: BytePath; target: string }

export interface MountPlan {
  root: 'write' | 'read' | 'hidden'
  /** In the order of mounting: what lies deeper comes later. */
  mounts: Mount[]
}

/** Made anew for every command, whatever the rules say of them. */
const FRESH_PLACES = ['/proc', '/dev'] as const
/** bwrap takes no more than 9,000 arguments, and each mount costs it a look at all others. */
const MAX_MOUNTS = 1_000

/**
 * Turns rules about places into mounts, on the files as they are now.
 * @param looks what the mounts rest on, beside the arguments and what patterns match
 * @param isMountPoint true for an empty folder that is only there for another command's mounts
 * @throws WireError `sandboxPreparation` for rules that no mounts can hold to
 */
export function planMounts(rules: SandboxPlaces, looks: Looks, isMountPoint: (path: BytePath) => boolean): MountPlan {
  return new Planner(rules, looks, isMountPoint).plan()
}

class Planner {
  private readonly accessOf = new Map<BytePath, PlaceAccess>()
  private readonly optional = new Map<BytePath, boolean>()
  private readonly mounts: Mount[] = []
  private readonly mounted = new Set<BytePath>()
  private readonly closed: BytePath[]
  private readonly shown: BytePath[]

  constructor(
    rules: SandboxPlaces,
    private readonly looks: Looks,
    private readonly isMountPoint: (path: BytePath) => boolean,
  ) {
    // What is denied by pattern or is ours stays closed, whatever more specific places say.
    this.closed = [...rules.sealed, ...expandGlobs(rules, 'denied')]
    for (const rule of rules.places) this.enter(rule)
    for (const access of ['write', 'read'] as const)
      for (const path of expandGlobs(rules, access))
        if (this.inherited(path) === 'hidden') this.enter({ path, access, isOptional: true })
    for (const path of this.closed) this.enter({ path, access: 'denied', isOptional: false })
    // Ours as well, and for reading.
    this.shown = rules.shown.filter((path) => looks.kindOf(path) === 'folder')
    for (const path of this.shown) this.accessOf.set(path, 'read')
  }

  plan(): MountPlan {
    const root = this.accessOf.get('/' as BytePath)
    const paths = [...this.accessOf.keys()].filter((path) => path !== '/' && !this.isFresh(path))
    paths.sort((a, b) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1))
    for (const path of paths) this.place(path)
    if (this.mounts.length > MAX_MOUNTS)
      throw preparationFailed(
        `the sandbox needs ${this.mounts.length} mounts, more than ${MAX_MOUNTS}; name folders instead of many files`,
      )
    return { root: root === undefined || root === 'denied' ? 'hidden' : root, mounts: this.mounts }
  }

  private enter({ path, access, isOptional }: PlaceRule): void {
    const known = this.accessOf.get(path)
    if (known === undefined || isStricter(access, known)) this.accessOf.set(path, access)
    this.optional.set(path, isOptional && (this.optional.get(path) ?? true))
  }

  private place(path: BytePath): void {
    const access = this.accessOf.get(path) as PlaceAccess
    const inherited = this.inherited(parentOf(path))
    if (!this.shown.includes(path) && this.closed.some((place) => place !== path && isWithin(path, place))) return
    const kind = this.looks.kindOf(path)
    if (kind === 'missing' || this.isMountPoint(path)) {
      if (access !== 'write' && inherited === 'write') this.keepVacant(path)
      return
    }
    if (kind === 'link') return this.placeLink(path, access, inherited)
    if (access === inherited || (access === 'denied' && inherited === 'hidden')) return
    if (access !== 'write') this.pinWay(path)
    if (access !== 'denied') this.mount({ kind: access, path })
    else if (kind === 'folder') this.mount({ kind: 'hiddenFolder', path, leadsOn: this.leadsOn(path) })
    else this.mount({ kind: 'hiddenFile', path })
  }

  /** The rule holds at what the link leads to, which has a rule of its own; here it is about the link. */
  private placeLink(path: BytePath, access: PlaceAccess, inherited: PlaceAccess | 'hidden'): void {
    if (inherited === 'hidden' && access !== 'denied')
      return this.mount({ kind: 'link', path, target: this.looks.linkTarget(path) ?? '' })
    if (access === 'write' || inherited !== 'write') return
    throw preparationFailed(
      `${displayPath(path)} is a symbolic link in a folder that the command may write, so it could be exchanged ` +
        `for something else; put what it leads to in its place, or let the sandbox name the folder it leads to`,
    )
  }

  /** Somebody who may write the folder could make the place himself, with the hooks he likes in it. */
  private keepVacant(path: BytePath): void {
    const missing = this.firstMissing(path)
    if (missing !== path && this.optional.get(path)) return
    if (this.mounted.has(missing) || this.looks.kindOf(parentOf(missing)) !== 'folder') return
    this.pinWay(missing)
    this.mount({ kind: 'vacant', path: missing })
  }

  /**
   * Makes the folders above `path` mounts, down from the writable one: a folder that is a mount cannot be
   * renamed, so nobody moves the place away and puts another one where it was.
   */
  private pinWay(path: BytePath): void {
    const way: BytePath[] = []
    for (
      let at = parentOf(path);
      at !== '/' && !this.mounted.has(at) && this.inherited(at) === 'write';
      at = parentOf(at)
    )
      way.unshift(at)
    for (const folder of way) this.mount({ kind: 'write', path: folder })
  }

  private mount(mount: Mount): void {
    this.mounts.push(mount)
    this.mounted.add(mount.path)
  }

  /** What holds at `path` by itself or by the nearest place above it. */
  private inherited(path: BytePath): PlaceAccess | 'hidden' {
    for (let at = path; ; at = parentOf(at)) {
      const access = this.accessOf.get(at)
      if (access !== undefined) return access
      if (at === '/') return 'hidden'
    }
  }

  private leadsOn(folder: BytePath): boolean {
    if (this.closed.includes(folder)) return this.shown.some((path) => isWithin(path, folder))
    return [...this.accessOf].some(([path, access]) => access !== 'denied' && path !== folder && isWithin(path, folder))
  }

  private firstMissing(path: BytePath): BytePath {
    const parent = parentOf(path)
    return this.looks.kindOf(parent) !== 'missing' ? path : this.firstMissing(parent)
  }

  private isFresh(path: BytePath): boolean {
    return FRESH_PLACES.some((place) => isWithin(path, place))
  }
}

const depthOf = (path: BytePath): number => path.split('/').length
