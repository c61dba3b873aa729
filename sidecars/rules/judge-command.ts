import type { CommandSubject } from '../protocol/subject.ts'
import { readCommandWrapper } from './command-wrapper.ts'
import { findTellingVariable } from './harmless-environment.ts'
import { findHiddenCharacter } from './hidden-characters.ts'
import { judgementOf, ruleCause, ruleName, type JudgedStep, type Judgement } from './judgement.ts'
import { matchedLength, matchesPattern } from './match-pattern.ts'
import { findRiskyArgument } from './risky-arguments.ts'
import { stricter, type CommandRule } from './rule.ts'
import type { ShellGrammar } from './shell-grammar.ts'
import { readShellText } from './shell-reader.ts'
import { programName, readShellWrapper } from './shell-wrapper.ts'

export interface CommandRules {
  commands: readonly CommandRule[]
  /** Program name -> the only files that an allow rule on the name may mean. */
  executables: ReadonlyMap<string, readonly string[]>
}

export interface CommandContext {
  /** Null when it could not be loaded: shell text is then always asked about. */
  grammar: ShellGrammar | null
  /** Whether a path is the file that a bare program name means on the owner's search path. */
  isFileOf(name: string, path: string): boolean
  /** Whether a search path has only folders that the owner's own has. */
  isTrustedSearchPath(path: string): boolean
}

type Words = readonly (string | undefined)[]
/** Shells in shells: more is nothing a person wrote. */
const DEEPEST = 8

/**
 * Whether a command may run: the strictest verdict of every program that it could start. What is not
 * understood to the end asks; nothing here looks at the disk but `isFileOf`.
 */
export function judgeCommand(
  subject: Pick<CommandSubject, 'argv' | 'envChanges' | 'arg0'>,
  rules: CommandRules,
  context: CommandContext,
): Judgement {
  const judge = new Judge(rules, context)
  const chain = judge.judgeWords(subject.argv, 0)
  const hidden = findHiddenCharacter(subject.argv.join('\n'))
  if (hidden !== undefined) chain.push(ask(shown(subject.argv), `it holds the hidden character ${hidden}`))
  const variable = findTellingVariable(subject.envChanges, (path) => context.isTrustedSearchPath(path))
  if (variable !== undefined) chain.push(ask(`environment variable ${variable}`, 'it may change what is run'))
  if (subject.arg0 !== undefined && subject.arg0 !== subject.argv[0])
    chain.push(ask(`name ${subject.arg0}`, 'the program is told another name than its own'))
  return judgementOf(chain)
}

/** The same for a line of shell text, as typed into a test box. */
export function judgeShellText(text: string, rules: CommandRules, context: CommandContext): Judgement {
  return judgementOf(new Judge(rules, context).judgeText(text, 0))
}

class Judge {
  constructor(
    private readonly rules: CommandRules,
    private readonly context: CommandContext,
  ) {}

  judgeWords(words: Words, depth: number): JudgedStep[] {
    if (words[0] === undefined) return [ask(shown(words), 'which program it starts is only known when it runs')]
    if (depth > DEEPEST) return [ask(shown(words), 'programs are nested too deep to follow')]
    const own = this.judgeProgram(words)
    const inner = this.judgeInner(words, depth)
    if (!inner) return [own]
    // A rule for exactly this text was written by someone who saw it; one for the wrapper alone was not.
    if (own.effect === 'allow' && own.rule?.kind === 'command' && own.rule.pattern.length === words.length)
      return [own, ...inner.filter((step) => step.effect === 'deny')]
    return own.rule && own.effect !== 'allow' ? [own, ...inner] : inner
  }

  judgeText(text: string, depth: number): JudgedStep[] {
    if (!this.context.grammar) return [ask(shorten(text), 'shell text cannot be read: the grammar is not loaded')]
    const { commands, unclear } = readShellText(text, this.context.grammar)
    const steps = commands.flatMap(({ words }) => this.judgeWords(words, depth + 1))
    const rest = unclear.map((why) => ask('shell text', why))
    return steps.length + rest.length === 0 ? [ask(shorten(text), 'it holds no command')] : [...steps, ...rest]
  }

  /** Steps for what a shell or another wrapper starts; undefined when the program is the whole story. */
  private judgeInner(words: Words, depth: number): JudgedStep[] | undefined {
    const shell = readShellWrapper(words)
    if (shell) return shell.kind === 'text' ? this.judgeText(shell.text, depth) : [ask(shown(words), shell.why)]
    const wrapper = readCommandWrapper(words)
    if (!wrapper) return undefined
    if (wrapper.kind === 'unclear') return [ask(shown(words), wrapper.why)]
    if (wrapper.kind === 'text') return this.judgeText(wrapper.text, depth)
    const steps = this.judgeWords(wrapper.words, depth + 1)
    return wrapper.note === undefined ? steps : [...steps, ask(shown(words), wrapper.note)]
  }

  private judgeProgram(words: Words): JudgedStep {
    const about = shown(words)
    const known = words.every((word) => word !== undefined) ? { words: [...words] as string[] } : {}
    const rule = strictestRule(this.rules.commands.filter((candidate) => this.matches(candidate, words)))
    if (!rule)
      return { effect: 'ask', about, because: 'no rule matches', cause: 'open', ...this.nearly(words), ...known }
    const step: JudgedStep = {
      effect: rule.effect,
      about,
      because: ruleCause(rule),
      cause: 'rule',
      rule,
      ruleId: rule.id,
      ...known,
    }
    if (rule.effect === 'ask') return { ...step, ...this.nearly(words) }
    if (rule.effect === 'deny') return step
    // Arguments that are only known at run time could be any of the risky ones.
    const risk = known.words ? findRiskyArgument(known.words) : 'an argument is only known when it runs'
    if (risk === undefined) return step
    return { effect: 'ask', about, because: risk, cause: 'unclear', nearly: ruleName(rule), ...known }
  }

  /** Rules that deny or ask hold for a program wherever it lies; rules that allow only for the right file. */
  private matches(rule: CommandRule, words: Words): boolean {
    if (matchesPattern(rule.pattern, words)) return true
    const [program = '', ...rest] = words
    if (!program.includes('/')) return false
    const name = programName(program)
    if (!matchesPattern(rule.pattern, [name, ...rest])) return false
    return rule.effect !== 'allow' || this.isRightFile(program, name)
  }

  private isRightFile(program: string, name: string): boolean {
    if (!program.startsWith('/')) return false
    const listed = this.rules.executables.get(name)
    return listed ? listed.includes(program) : this.context.isFileOf(name, program)
  }

  /** The allow rule that came closest, and the word that was different. */
  private nearly(words: Words): { nearly?: string } {
    const [program = '', ...rest] = words
    const byName = [programName(program), ...rest]
    let best: { rule: CommandRule; length: number } | undefined
    for (const rule of this.rules.commands) {
      const length = rule.effect === 'allow' ? matchedLength(rule.pattern, byName) : 0
      if (length > (best?.length ?? 0)) best = { rule, length }
    }
    if (!best) return {}
    const { rule, length } = best
    if (length === rule.pattern.length)
      return { nearly: `${ruleName(rule)}, but ${program} is not the file that the name stands for` }
    const missing =
      words.length <= length
        ? 'there is no further word'
        : `word ${length + 1} is ${JSON.stringify(words[length] ?? 'unknown')}`
    return { nearly: `${ruleName(rule)}, but ${missing}` }
  }
}

/** The strictest rule, and of these the one that says most. */
function strictestRule(rules: CommandRule[]): CommandRule | undefined {
  let best: CommandRule | undefined
  for (const rule of rules)
    if (
      !best ||
      (rule.effect === best.effect
        ? rule.pattern.length > best.pattern.length
        : stricter(rule.effect, best.effect) === rule.effect)
    )
      best = rule
  return best
}

const ask = (about: string, because: string): JudgedStep => ({ effect: 'ask', about, because, cause: 'unclear' })

function shown(words: Words): string {
  return shorten(words.map((word) => word ?? '…').join(' '))
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}
