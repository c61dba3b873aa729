/** Variables that every shell sets for itself, or that belong to one command. */
const OF_THE_MOMENT = new Set(['PWD', 'OLDPWD', 'SHLVL', '_'])
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Options of bash that cannot be set, or that would say something untrue. */
const FIXED_OPTIONS = /^shopt -[su] (login_shell|restricted_shell)$/

type Environment = Readonly<Record<string, string>>

/** What a login shell told about itself when its startup files had been read. */
export interface ShellReport {
  /** Lines of `shopt -p`. */
  options: string
  /** Definitions as `declare -f` and `declare -Fx` print them. */
  functions: string
  /** Lines of `alias -p`. */
  aliases: string
  /** Lines of `umask -p` and `set +o`. */
  settings: string
  cwd: string
  environment: Environment
}

/**
 * What the startup files of a login shell make of an environment: commands can then start from it without
 * reading them again.
 */
export class ShellSnapshot {
  /** Variables that the startup files set, change (value) or remove (null). */
  private readonly changes: ReadonlyMap<string, string | null>

  /** @param before the environment in which the shell was started */
  constructor(
    private readonly before: Environment,
    after: Environment,
    /** Script that gives a plain shell the options, functions and aliases. */
    readonly path: string,
  ) {
    const changes = new Map<string, string | null>()
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (VARIABLE_NAME.test(name) && !OF_THE_MOMENT.has(name) && before[name] !== after[name])
        changes.set(name, after[name] ?? null)
    this.changes = changes
  }

  /**
   * The environment of a command that starts from here; undefined when a variable that the startup files
   * changed is another one now, so that they would make something else of it.
   */
  environmentFor(environment: Environment): Record<string, string> | undefined {
    const made: Record<string, string> = { ...environment }
    for (const [name, value] of this.changes) {
      if (environment[name] !== this.before[name]) return undefined
      if (value === null) delete made[name]
      else made[name] = value
    }
    return made
  }
}

/**
 * The script of a report, for bash to read before its command. Aliases stand behind functions, in whose
 * bodies they are at work already; what could end the script, such as `set -e`, stands at its end.
 */
export function snapshotScript({ options, functions, aliases, settings }: ShellReport): string {
  const settable = options.split('\n').filter((line) => !FIXED_OPTIONS.test(line))
  return [`unset BASH_ENV`, ...settable, functions, aliases, settings].join('\n')
}
