import { statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { decidingStep, stepText, stepView, type Judgement } from '../../sidecars/rules/judgement.ts'
import { judgeCommand, judgeShellText, type CommandContext } from '../../sidecars/rules/judge-command.ts'
import { readForeignFolders } from '../../sidecars/rules/foreign-folders.ts'
import { ProgramPath } from '../../sidecars/rules/program-path.ts'
import type { Effect } from '../../sidecars/rules/rule.ts'
import { loadShellGrammar } from '../../sidecars/rules/shell-grammar.ts'
import { pathsOutside, realTarget } from '../../sidecars/rules/writable-places.ts'
import { hostFolders } from '../control/data-folder.ts'
import { readRulesAtRest, type RulesAtRest } from '../rules/rules-at-rest.ts'
import { CommandError, UsageError, type Command } from './command.ts'
import { currentFolder } from './current-folder.ts'
import { printLine, visible, warn } from './print.ts'

const EXIT_CODES: Record<Effect, number> = { allow: 0, ask: 10, deny: 20 }

interface Question {
  asJson: boolean
  ruleFiles: string[]
  cwd: string
  writable: string[]
  command: { text: string } | { argv: string[] }
}

export const check: Command = {
  name: 'check',
  summary: 'Tell whether rules would let a command run, and why. Runs nothing.',
  help: `Usage: gatehouse check [OPTION...] (--shell TEXT | -- ARGV...)

  --shell TEXT    a line for a shell, read with bash's grammar
  --rules FILE    judge by this file only (may be given again); without it, by the rules in the data
                  folder and those of the project, when it is trusted
  --cwd DIR       where the command would run; default: here
  --writable DIR  redirections may write below DIR (may be given again); without it every one asks
  --json          the last line is one JSON object with the verdict and the chain that led to it

Exit code 0 when it may run, 10 when somebody must be asked, 20 when it is denied.

  gatehouse check --shell 'git status && rm -rf build'
  gatehouse check --json --rules my.rules -- git push --force`,
  run: async (argv) => {
    const question = readQuestion(argv)
    const [rules, grammar] = await Promise.all([readRules(question), loadShellGrammar()])
    const programs = new ProgramPath(process.env.PATH ?? '')
    const judgement = judge(question, rules, {
      grammar,
      isFileOf: (name, path) => programs.isFileOf(name, path),
      isTrustedSearchPath: (path) => programs.isTrusted(path),
    })
    if (question.asJson) printLine(JSON.stringify(answerOf(question, rules, judgement)))
    else printAnswer(rules, judgement)
    return EXIT_CODES[judgement.verdict]
  },
}

/** @throws UsageError */
function readQuestion(argv: string[]): Question {
  const end = argv.indexOf('--')
  const own = end < 0 ? argv : argv.slice(0, end)
  const words = end < 0 ? undefined : argv.slice(end + 1)
  const { values, positionals } = (() => {
    try {
      return parseArgs({
        args: own,
        allowPositionals: true,
        options: {
          json: { type: 'boolean' },
          shell: { type: 'string' },
          cwd: { type: 'string' },
          rules: { type: 'string', multiple: true },
          writable: { type: 'string', multiple: true },
        },
      })
    } catch (error) {
      throw new UsageError((error as Error).message.split('. ')[0])
    }
  })()
  if (positionals[0] !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}; put -- before the command`)
  if (values.shell !== undefined && words !== undefined)
    throw new UsageError('give the command either as --shell TEXT or behind --, not both')
  const cwd = isAbsolute(values.cwd ?? '') ? resolve(values.cwd ?? '') : resolve(currentFolder(), values.cwd ?? '')
  if (values.cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--cwd: ${values.cwd} is not a folder`)
  const common = { asJson: values.json === true, ruleFiles: values.rules ?? [], cwd, writable: values.writable ?? [] }
  if (values.shell !== undefined) return { ...common, command: { text: values.shell } }
  if (words === undefined || words.length === 0)
    throw new UsageError('the command is missing; give it as --shell TEXT or behind --')
  return { ...common, command: { argv: words } }
}

async function readRules({ ruleFiles, cwd }: Question): Promise<RulesAtRest> {
  if (ruleFiles.length === 0) return readRulesAtRest(await foldersFor(cwd), [])
  return readRulesAtRest([], ruleFiles).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`check: --rules: ${error.message}`, 2)
  })
}

/** The owner's rules, and what the settings let in beside them for this folder. */
async function foldersFor(cwd: string): Promise<string[]> {
  const { dataDir } = hostFolders()
  const here = realTarget(cwd) ?? cwd
  const foreign = (await readForeignFolders(dataDir)).filter(
    ({ below }) => below === null || pathsOutside([here], [realTarget(below) ?? below], []).length === 0,
  )
  return [join(dataDir, 'rules'), ...foreign.map(({ path }) => path)]
}

function judge({ command, cwd, writable }: Question, rules: RulesAtRest, context: CommandContext): Judgement {
  const place = writable.length === 0 ? undefined : { cwd, writable: { roots: writable.map((root) => resolve(root)) } }
  return 'text' in command
    ? judgeShellText(command.text, rules, context, place)
    : judgeCommand({ argv: command.argv, envChanges: {} }, rules, context, place)
}

function answerOf({ command, cwd }: Question, { problems }: RulesAtRest, judgement: Judgement) {
  const deciding = decidingStep(judgement)
  return {
    verdict: judgement.verdict,
    reason: deciding ? stepText(deciding) : null,
    chain: judgement.chain.map(stepView),
    ...('text' in command ? { shell: command.text } : { argv: command.argv }),
    cwd,
    problems,
  }
}

function printAnswer({ problems }: RulesAtRest, { verdict, chain }: Judgement): void {
  for (const { file, line, message } of problems)
    warn(visible(`${file}${line === null ? '' : `:${line}`}: ${message}; nothing is allowed by this file`))
  printLine(verdict)
  for (const step of chain) {
    const traits = (step.traits ?? []).map(({ reason }) => reason)
    printLine(`  ${visible(stepText(step))}${traits.length === 0 ? '' : visible(` [${traits.join(', ')}]`)}`)
  }
}
