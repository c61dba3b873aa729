/** Command rules of a home folder, judged by the one rule engine and read anew when a file changes. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { appendRule } from '../../rules/append-rule.ts'
import { whyNotOffered } from '../../rules/banned-prefix.ts'
import { judgeCommand, type CommandContext, type CommandRules as Rules } from '../../rules/judge-command.ts'
import { dangerOf, decidingStep, isKnownSafe, type Judgement } from '../../rules/judgement.ts'
import { ProgramPath } from '../../rules/program-path.ts'
import { readRuleFolder, type RuleProblem } from '../../rules/read-rule-file.ts'
import { parseRuleFile } from '../../rules/rule-file.ts'
import { commandRuleText } from '../../rules/rule-text.ts'
import type { CommandRule } from '../../rules/rule.ts'
import { loadShellGrammar, type ShellGrammar } from '../../rules/shell-grammar.ts'
import type { CommandRules, CommandVerdict } from '../engine/services.ts'

export interface HomeRulesOptions {
  /** The folder that holds `rules/`. */
  home: string
  /** What is wrong with a file, once for each state of the folder. */
  onProblem?: (message: string) => void
}

export class HomeRules implements CommandRules {
  private readonly folder: string
  private readonly programs = new ProgramPath(process.env.PATH ?? '')
  private loaded: { signature: string; rules: Rules } | undefined
  /** Loaded with the first command that is judged. */
  private grammar: Promise<ShellGrammar | null> | undefined

  constructor(private readonly options: HomeRulesOptions) {
    this.folder = join(options.home, 'rules')
  }

  async judge(argv: readonly string[]): Promise<CommandVerdict> {
    const judgement = await this.judgeBy(await this.rules(), argv)
    const danger = dangerOf(judgement)
    const verdict = verdictOf(judgement)
    const reason = decidingStep(judgement)?.because
    return {
      verdict,
      reason:
        danger && verdict === 'none'
          ? `${danger.about}: ${danger.reason}`
          : verdict === 'deny' || verdict === 'ask'
            ? (reason ?? null)
            : null,
      knownSafe: isKnownSafe(judgement),
      dangerous: danger !== undefined,
      proposedPrefix: verdict === 'none' ? proposedPrefix(judgement) : null,
    }
  }

  async acceptsPrefix(prefix: readonly string[], argv: readonly string[]): Promise<boolean> {
    if (prefix.length === 0 || whyNotOffered(prefix) !== undefined) return false
    const rules = await this.rules()
    const added = { ...rules, commands: [...rules.commands, allowRule(prefix)] }
    return (await this.judgeBy(added, argv)).verdict === 'allow'
  }

  async addPrefix(prefix: readonly string[]): Promise<void> {
    await appendRule(this.folder, allowText(prefix))
  }

  private async judgeBy(rules: Rules, argv: readonly string[]): Promise<Judgement> {
    this.grammar ??= loadShellGrammar().catch((error: Error) => {
      this.options.onProblem?.(`shell text cannot be read, so no rule allows it: ${error.message}`)
      return null
    })
    const context: CommandContext = {
      grammar: await this.grammar,
      isFileOf: (name, path) => this.programs.isFileOf(name, path),
      isTrustedSearchPath: (path) => this.programs.isTrusted(path),
    }
    return judgeCommand({ argv: [...argv], envChanges: {} }, rules, context)
  }

  private async rules(): Promise<Rules> {
    const signature = await this.sign()
    if (this.loaded?.signature === signature) return this.loaded.rules
    const read = await readRuleFolder(this.folder)
    for (const problem of read.problems) this.options.onProblem?.(problemText(problem))
    const executables = new Map<string, string[]>()
    for (const { name, paths } of read.executables) executables.set(name, [...(executables.get(name) ?? []), ...paths])
    const commands = read.rules.filter((rule): rule is CommandRule => rule.kind === 'command')
    this.loaded = { signature, rules: { commands, executables } }
    return this.loaded.rules
  }

  /** Changes whenever a file of the folder does. */
  private async sign(): Promise<string> {
    const names = (await readdir(this.folder).catch(() => [])).filter((name) => name.endsWith('.rules')).sort()
    const parts = names.map(async (name) => {
      const found = await stat(join(this.folder, name)).catch(() => undefined)
      return `${name} ${found?.ino} ${found?.size} ${found?.mtimeMs}`
    })
    return (await Promise.all(parts)).join('\n')
  }
}

/** `none` unless a rule said so: whether to ask then is the policy's affair. */
function verdictOf({ verdict, chain }: Judgement): CommandVerdict['verdict'] {
  if (verdict !== 'ask') return verdict
  return chain.some(({ effect, rule, cause }) => effect === 'ask' && rule && cause === 'rule') ? 'ask' : 'none'
}

/** The words of the first part that no rule allows; null when a rule for it would be too wide or could not help. */
function proposedPrefix({ chain }: Judgement): string[] | null {
  const asking = chain.filter(({ effect }) => effect === 'ask')
  const [first] = asking
  if (!first?.words || asking.some(({ cause }) => cause !== 'open')) return null
  return whyNotOffered(first.words) === undefined ? first.words : null
}

const allowText = (prefix: readonly string[]): string =>
  commandRuleText(
    prefix.map((word) => [word]),
    'allow',
  )

function allowRule(prefix: readonly string[]): CommandRule {
  const [rule] = parseRuleFile('proposed', allowText(prefix)).rules
  if (rule?.kind !== 'command') throw new Error(`not a rule: ${JSON.stringify(prefix)}`)
  return rule
}

const problemText = ({ file, line, message }: RuleProblem): string =>
  `rules/${file}${line === null ? '' : `:${line}`}: ${message}; it permits nothing until this is put right`
