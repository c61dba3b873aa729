import { userInfo } from 'node:os'
import type { EnvironmentPolicy, ProcessStartParams } from '../../protocol/exec-process.ts'

export type Environment = Record<string, string>

/** What `inherit: "core"` takes, where it exists. */
const CORE = new Set('HOME LANG LC_ALL LC_CTYPE LOGNAME PATH SHELL TEMP TMP TMPDIR USER'.split(' '))
/** Names dropped from what is inherited unless the policy says `ignoreDefaultExcludes`. */
const SECRET_LOOKING = /KEY|SECRET|TOKEN/i
/**
 * What Electron, Node and this program set for themselves: it would turn a child's Electron into Node,
 * load code into it, or hand it a secret. Values that a client or the owner sets for commands pass.
 */
const OUR_OWN = /^(ELECTRON_|CHROME_|NODE_OPTIONS$|NODE_CHANNEL_|GATEHOUSE_.*(TOKEN|SECRET)|GATEHOUSE_PROCESS_ID$)/

/** The server's own environment without what must not reach a child, under the owner's variables. */
export class InheritableEnvironment {
  /** Made when first asked for: walking through `process.env` takes as long as a tenth of a fork. */
  private made: Environment | undefined
  private base: Readonly<Environment> = {}

  constructor(private readonly own: NodeJS.ProcessEnv) {}

  /** Variables that win over our own, such as those of the owner's login shell. */
  setBase(base: Readonly<Environment>): void {
    this.base = base
    this.made = undefined
  }

  get(): Readonly<Environment> {
    if (this.made) return this.made
    const inherited = Object.entries(this.own).filter(([name]) => !OUR_OWN.test(name))
    this.made = { ...(Object.fromEntries(inherited) as Environment), ...this.base }
    return this.made
  }
}

/**
 * The whole environment of a child. Without a policy that is exactly `env`; with one it starts from
 * `inheritable` as the policy says, and `env` wins over everything.
 */
export function childEnvironment(
  params: Pick<ProcessStartParams, 'env' | 'envPolicy' | 'tty'>,
  inheritable: InheritableEnvironment,
): Environment {
  const { env, envPolicy, tty } = params
  const environment: Environment = envPolicy ? { ...applyPolicy(envPolicy, inheritable.get()), ...env } : { ...env }
  // As the reference: a shell on a terminal always knows which shell it is.
  if (tty && environment.SHELL === undefined) environment.SHELL = loginShell()
  return environment
}

function applyPolicy(policy: EnvironmentPolicy, inheritable: Readonly<Environment>): Environment {
  const isExcluded = matcher(policy.exclude)
  const isIncluded = policy.includeOnly.length === 0 ? () => true : matcher(policy.includeOnly)
  const isInherited = (name: string) =>
    policy.inherit !== 'none' &&
    (policy.inherit === 'all' || CORE.has(name)) &&
    (policy.ignoreDefaultExcludes || !SECRET_LOOKING.test(name)) &&
    !isExcluded(name)
  const inherited = Object.entries(inheritable).filter(([name]) => isInherited(name))
  const chosen = [...inherited, ...Object.entries(policy.set)].filter(([name]) => isIncluded(name))
  return Object.fromEntries(chosen)
}

/** Case-insensitive globs with `*` and `?`. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const globs = patterns.map((pattern) => pattern.toUpperCase())
  return (name) => globs.some((glob) => matchesGlob(name.toUpperCase(), glob))
}

/** Goes back to the last `*` only, so the work is bounded by the product of the lengths. */
function matchesGlob(text: string, glob: string): boolean {
  let t = 0
  let g = 0
  let star = -1
  let starText = 0
  while (t < text.length)
    if (glob[g] === '*') {
      star = g++
      starText = t
    } else if (g < glob.length && (glob[g] === '?' || glob[g] === text[t])) {
      t++
      g++
    } else if (star >= 0) {
      g = star + 1
      t = ++starText
    } else return false
  while (glob[g] === '*') g++
  return g === glob.length
}

let knownLoginShell: string | undefined

/** From the password database, not from `$SHELL`, which anybody may have set. */
export function loginShell(): string {
  knownLoginShell ??= readLoginShell()
  return knownLoginShell
}

function readLoginShell(): string {
  try {
    return userInfo().shell || '/bin/sh'
  } catch {
    return '/bin/sh'
  }
}
