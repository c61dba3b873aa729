import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import { pathOfText, type BytePath } from '../../protocol/path-uri.ts'
import {
  isStricter,
  resolvePlaces,
  type GlobRule,
  type PlaceRule,
  type PolicyContext,
  type SandboxPlaces,
} from '../sandbox/sandbox-places.ts'
import { isWithin } from './byte-path.ts'
import { osError } from './file-error.ts'

export type { PolicyContext } from '../sandbox/sandbox-places.ts'

/**
 * What a sandbox says about one place. `hidden`: no entry speaks of it, it is as if it did not exist;
 * `passage`: hidden itself, but a way to something that is not.
 */
export type FileAccess = 'write' | 'read' | 'denied' | 'hidden' | 'passage'

/** Holds the environment and memory of every process of the owner, this one's first. */
const PROCESS_PLACE = pathOfText('/proc')

/**
 * The file rules of one sandbox object. It judges real paths, after every link was followed; the most
 * specific entry wins, and where two speak of the same place the stricter does.
 */
export class FilePolicy {
  private constructor(
    private readonly places: readonly PlaceRule[],
    private readonly globs: readonly GlobRule[],
    private readonly sealed: readonly BytePath[],
  ) {}

  /**
   * Null when the sandbox leaves files alone.
   * @throws WireError for an entry that cannot be understood
   */
  static of(sandbox: SandboxObject | undefined, context: PolicyContext): FilePolicy | null {
    const resolved = resolvePlaces(sandbox, context)
    return resolved && FilePolicy.ofPlaces(resolved)
  }

  /** Of a sandbox object that was read already. */
  static ofPlaces({ places, globs, sealed }: SandboxPlaces): FilePolicy {
    return new FilePolicy([...places, { path: PROCESS_PLACE, access: 'denied', isOptional: false }], globs, sealed)
  }

  accessTo(path: BytePath): FileAccess {
    if (this.sealed.some((place) => isWithin(path, place))) return 'denied'
    let best: PlaceRule | undefined
    for (const rule of this.places) {
      if (!isWithin(path, rule.path)) continue
      if (
        !best ||
        rule.path.length > best.path.length ||
        (rule.path === best.path && isStricter(rule.access, best.access))
      )
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
    const isBelow = (path: BytePath) => path !== folder && isWithin(path, folder)
    return this.sealed.some(isBelow) || this.places.some(({ path, access }) => access !== 'write' && isBelow(path))
  }
}
