import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import type { BytePath } from '../../protocol/path-uri.ts'
import { FilePolicy } from '../files/file-policy.ts'
import { Looks } from './looks.ts'
import { planMounts, type MountPlan } from './mount-plan.ts'
import { placesOrAll, type PolicyContext, type SandboxPlaces } from './sandbox-places.ts'

/** What a sandbox object comes to on the files as they are. */
export interface WallPlan {
  policy: FilePolicy
  files: MountPlan
  /** What the plan rests on; more may be looked at with it, at once. */
  looks: Looks
}

/** Sandbox objects that are remembered: an agent uses one or two of them over and over. */
const MOST_KNOWN = 32
/** From here on looking at everything again costs more than planning anew. */
const MOST_LOOKS = 300

/**
 * Plans walls, and remembers the plans. One that is remembered is used again only after every place that it rests on
 * was looked at once more and found as it was; patterns are expanded anew each time.
 */
export class WallPlans {
  private readonly known = new Map<string, Known>()

  constructor(
    private readonly context: PolicyContext,
    /** See {@link MountPoints.lookAround}. */
    private readonly lookAround: () => (path: BytePath) => boolean,
  ) {}

  /** @throws WireError for a sandbox object that cannot be understood, which does not depend on any file */
  check(sandbox: SandboxObject | undefined): void {
    const key = keyOf(sandbox)
    if (!this.known.has(key)) this.remember(key, sandbox)
  }

  /** @throws WireError `sandboxPreparation` when no walls can be built like that */
  planFor(sandbox: SandboxObject | undefined): WallPlan {
    const key = keyOf(sandbox)
    let known = this.known.get(key)
    if (!known || known.looks.count > MOST_LOOKS || !known.looks.areTrue()) known = this.remember(key, sandbox)
    const isMountPoint = this.lookAround()
    if (!known.files || !isSame(known.mountPoints, isMountPoint)) {
      const mountPoints = new Map<BytePath, boolean>()
      const files = planMounts(known.places, known.looks, (path) => {
        const answer = isMountPoint(path)
        mountPoints.set(path, answer)
        return answer
      })
      Object.assign(known, { files: known.places.globs.length === 0 ? files : undefined, mountPoints })
      return { policy: known.policy, files, looks: known.looks }
    }
    return { policy: known.policy, files: known.files, looks: known.looks }
  }

  private remember(key: string, sandbox: SandboxObject | undefined): Known {
    const looks = new Looks()
    const places = placesOrAll(sandbox, this.context, looks)
    const known: Known = {
      looks,
      places,
      policy: FilePolicy.ofPlaces(places),
      files: undefined,
      mountPoints: new Map(),
    }
    this.known.delete(key)
    this.known.set(key, known)
    for (const oldest of this.known.keys()) {
      if (this.known.size <= MOST_KNOWN) break
      this.known.delete(oldest)
    }
    return known
  }
}

interface Known {
  looks: Looks
  places: SandboxPlaces
  policy: FilePolicy
  /** None before the first use, and where patterns have a say. */
  files: MountPlan | undefined
  /** What was answered about places while the mounts were planned. */
  mountPoints: ReadonlyMap<BytePath, boolean>
}

const keyOf = (sandbox: SandboxObject | undefined): string => JSON.stringify(sandbox) ?? ''

function isSame(answers: ReadonlyMap<BytePath, boolean>, isMountPoint: (path: BytePath) => boolean): boolean {
  for (const [path, answer] of answers) if (isMountPoint(path) !== answer) return false
  return true
}
