/**
 * Command rules of a home folder, and those that its settings let in beside them (trusted projects), judged by
 * the one rule engine and read anew when a file changes.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { appendRule } from '../../rules/append-rule.ts'
import { whyNotOffered } from '../../rules/banned-prefix.ts'
import { readForeignFolders, type ForeignFolder } from '../../rules/foreign-folders.ts'
import { judgeCommand, type CommandContext, type CommandRules as Rules } from '../../rules/judge-command.ts'
import { dangerOf, decidingStep, isKnownSafe, type Judgement } from '../../rules/judgement.ts'
import { ProgramPath } from '../../rules/program-path.ts'
import { readRuleFolder, type RuleProblem } from '../../rules/read-rule-file.ts'
import { parseRuleFile } from '../../rules/rule-file.ts'
import { commandRuleText } from '../../rules/rule-text.ts'
import type { CommandRule } from '../../rules/rule.ts'
import { RulesInForce } from '../../rules/rules-in-force.ts'
import { loadShellGrammar, type ShellGrammar } from '../../rules/shell-grammar.ts'
import { realTarget } from '../../rules/writable-places.ts'
import type { CommandRules, CommandVerdict } from '../engine/services.ts'

export interface HomeRulesOptions {
  /** The folder that holds `rules/` and `settings.json`. */
  home: string
  /** What is wrong with a file, once for each state of the folder. */
  onProblem?: (message: string) => void
}

export class HomeRules implements CommandRules {
  private readonly folder: string
  private readonly programs = new ProgramPath(process.env.PATH ?? '')
  private loaded: { signature: string; rules: RulesInForce } | undefined
  /** Loaded with the first command that is judged. */
  private grammar: Promise<ShellGrammar | null> | undefined

  constructor(private readonly options: HomeRulesOptions) {
    this.folder = join(options.home, 'rules')
  }

  async judge(argv: readonly string[], cwd: string): Promise<CommandVerdict> {
    const judgement = await this.judgeBy((await this.rules()).commandsAt(cwd), argv)
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

  async acceptsPrefix(prefix: readonly string[], argv: readonly string[], cwd: string): Promise<boolean> {
    if (prefix.length === 0 || whyNotOffered(prefix) !== undefined) return false
    const added = (await this.rules()).commandsAt(cwd, [allowRule(prefix)])
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

  private async rules(): Promise<RulesInForce> {
    const foreign = await readForeignFolders(this.options.home)
    const signature = await signatureOf([this.folder, ...foreign.map(({ path }) => path)])
    if (this.loaded?.signature === signature) return this.loaded.rules
    const [own, others] = await Promise.all([
      readRuleFolder(this.folder),
      Promise.all(foreign.map((folder) => readForeign(folder))),
    ])
    for (const problem of own.problems) this.options.onProblem?.(`rules/${problemText(problem)}`)
    for (const problem of others.flatMap(({ problems }) => problems)) this.options.onProblem?.(problemText(problem))
    this.loaded = { signature, rules: RulesInForce.of(own.rules, own.executables, others) }
    return this.loaded.rules
  }
}

const readForeign = async ({ path, below }: ForeignFolder) => ({
  ...(await readRuleFolder(path, true)),
  below: below === null ? null : (realTarget(below) ?? below),
})

/** Changes whenever a file of one of the folders does, or the folders do. */
async function signatureOf(folders: readonly string[]): Promise<string> {
  const parts = folders.map(async (folder) => {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.rules')).sort()
    const files = names.map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined)
      return `${name} ${found?.ino} ${found?.size} ${found?.mtimeMs}`
    })
    return [folder, ...(await Promise.all(files))].join('\n')
  })
  return (await Promise.all(parts)).join('\n')
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
  `${file}${line === null ? '' : `:${line}`}: ${message}; it permits nothing until this is put right`
