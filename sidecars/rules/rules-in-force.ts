import type { CommandRules } from './judge-command.ts'
import type { CommandRule, HostExecutable, HostRule, Rule } from './rule.ts'
import { pathsOutside, realTarget } from './writable-places.ts'

/** Rules that are not the owner's own, and where they hold. */
export interface ScopedRules {
  /** Real path of the folder below which they hold; null = everywhere. */
  below: string | null
  rules: readonly Rule[]
  executables: readonly HostExecutable[]
}

interface Project {
  /** Real path of the folder below which its rules hold. */
  below: string
  /** Everything that holds there: its own rules and those that hold everywhere. */
  commands: CommandRules
  /** Its own alone. */
  hosts: HostRule[]
}

/** The rules of one moment, sorted by what they speak of and where they hold. */
export class RulesInForce {
  static readonly NONE = new RulesInForce({ commands: [], executables: new Map() }, [], [])

  private constructor(
    private readonly commands: CommandRules,
    readonly hosts: readonly HostRule[],
    /** The innermost first. */
    private readonly projects: readonly Project[],
  ) {}

  /** `own`: rules of the owner's files and of sessions, which hold everywhere. */
  static of(
    own: readonly Rule[],
    executables: readonly HostExecutable[],
    foreign: readonly ScopedRules[],
  ): RulesInForce {
    const everywhere = foreign.filter(({ below }) => below === null)
    const rules = [...own, ...everywhere.flatMap((loaded) => loaded.rules)]
    const programs = [...executables, ...everywhere.flatMap((loaded) => loaded.executables)]
    const scopes = [...new Set(foreign.map(({ below }) => below))]
      .filter((below) => below !== null)
      .sort((a, b) => b.length - a.length)
    const projects = scopes.map((below): Project => {
      // A project in a project has its rules and those around it.
      const around = foreign.filter((loaded) => loaded.below !== null && isWithin(below, loaded.below))
      const inProject = around.flatMap((loaded) => loaded.rules)
      return {
        below,
        commands: commandRulesOf(
          [...rules, ...inProject],
          [...programs, ...around.flatMap((loaded) => loaded.executables)],
        ),
        hosts: inProject.filter((rule) => rule.kind === 'network'),
      }
    })
    return new RulesInForce(
      commandRulesOf(rules, programs),
      rules.filter((rule) => rule.kind === 'network'),
      projects,
    )
  }

  /** The command rules that hold in a folder, and those of `extra`. */
  commandsAt(cwd: string | undefined, extra: readonly Rule[] = []): CommandRules {
    const rules = this.projectAt(cwd)?.commands ?? this.commands
    const more = extra.filter((rule): rule is CommandRule => rule.kind === 'command')
    return more.length === 0 ? rules : { ...rules, commands: [...rules.commands, ...more] }
  }

  /** The host rules that hold for what works in a folder, beside `hosts`. */
  projectHostsAt(cwd: string | undefined): readonly HostRule[] {
    return this.projectAt(cwd)?.hosts ?? []
  }

  private projectAt(cwd: string | undefined): Project | undefined {
    if (cwd === undefined || this.projects.length === 0) return undefined
    const real = realTarget(cwd) ?? cwd
    return this.projects.find(({ below }) => isWithin(real, below))
  }
}

function commandRulesOf(rules: readonly Rule[], executables: readonly HostExecutable[]): CommandRules {
  const byName = new Map<string, string[]>()
  for (const { name, paths } of executables) byName.set(name, [...(byName.get(name) ?? []), ...paths])
  return { commands: rules.filter((rule) => rule.kind === 'command'), executables: byName }
}

const isWithin = (path: string, folder: string): boolean => pathsOutside([path], [folder], []).length === 0
