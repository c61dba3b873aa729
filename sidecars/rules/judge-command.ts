import type { CommandSubject } from '../protocol/subject.ts'
import { classifyCommand } from './classify-command.ts'
import { Effort } from './effort.ts'
import { findTellingVariable } from './harmless-environment.ts'
import { findHiddenCharacter } from './hidden-characters.ts'
import { readsCommandsFromInput } from './input-reader.ts'
import { judgementOf, ruleCause, ruleName, type JudgedStep, type Judgement } from './judgement.ts'
import { matchedLength, matchesPattern } from './match-pattern.ts'
import type { ReadText } from './read-text.ts'
import { findRiskyArgument } from './risky-arguments.ts'
import { stricter, type CommandRule } from './rule.ts'
import type { ShellGrammar } from './shell-grammar.ts'
import { readShellText } from './shell-reader.ts'
import { programName } from './shell-wrapper.ts'
import { readStartedCommands } from './started-commands.ts'
import type { Words } from './started.ts'
import { mayWrite, type WritablePlaces } from './writable-places.ts'

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

/** Where a command runs. Without it every redirection into a file asks. */
export interface CommandPlace {
  /** Absolute. */
  cwd: string
  writable: WritablePlaces
}

/** Programs in programs: more is nothing a person wrote. */
const DEEPEST = 40
/** Steps of one verdict; what comes after is not looked at, so it asks. */
const MOST_STEPS = 4_000
/** Characters of possible commands that are looked at, and how many; what comes after asks. */
const MOST_HINT_CHARACTERS = 100_000
const MOST_HINTS = 400
/** What one step takes, in units of effort. */
const STEP_EFFORT = 50
const TOO_MUCH = 'it holds more than is looked at'

/**
 * Whether a command may run: the strictest verdict of every program that it could start. What is not
 * understood to the end asks. The disk is looked at only through `isFileOf` and for `place`.
 */
export function judgeCommand(
  subject: Pick<CommandSubject, 'argv' | 'envChanges' | 'arg0'>,
  rules: CommandRules,
  context: CommandContext,
  place?: CommandPlace,
): Judgement {
  const chain = new Judge(rules, context, place).judgeWords(subject.argv, 0)
  const hidden = findHiddenCharacter(subject.argv.join('\n'))
  if (hidden !== undefined) chain.push(ask(shown(subject.argv), `it holds the hidden character ${hidden}`))
  const variable = findTellingVariable(subject.envChanges, (path) => context.isTrustedSearchPath(path))
  if (variable !== undefined) chain.push(ask(`environment variable ${variable}`, 'it may change what is run'))
  if (subject.arg0 !== undefined && subject.arg0 !== subject.argv[0])
    chain.push(ask(`name ${subject.arg0}`, 'the program is told another name than its own'))
  return judgementOf(chain)
}

/** The same for a line of shell text, as typed into a test box. */
export function judgeShellText(
  text: string,
  rules: CommandRules,
  context: CommandContext,
  place?: CommandPlace,
): Judgement {
  return judgementOf(new Judge(rules, context, place).judgeText(text, 0))
}

/** Rules by the program they name, made once for each set. */
const INDEXES = new WeakMap<readonly CommandRule[], Map<string, CommandRule[]>>()
const NONE: readonly CommandRule[] = []

function rulesFor(rules: readonly CommandRule[], program: string): readonly CommandRule[] {
  let index = INDEXES.get(rules)
  if (!index) {
    index = new Map()
    for (const rule of rules)
      for (const word of new Set(rule.pattern[0])) {
        const same = index.get(word)
        if (same) same.push(rule)
        else index.set(word, [rule])
      }
    INDEXES.set(rules, index)
  }
  return index.get(program) ?? NONE
}

class Judge {
  private readonly effort = new Effort()
  private stepCount = 0
  private hintCount = 0
  private hintCharacters = 0
  private readonly hintsSeen = new Set<string>()
  /** Commands so far that may take what they run from their input, and everything that may be that input. */
  private readerCount = 0
  private readonly printed: string[] = []

  constructor(
    private readonly rules: CommandRules,
    private readonly context: CommandContext,
    private readonly place: CommandPlace | undefined,
  ) {}

  judgeWords(words: Words, depth: number): JudgedStep[] {
    if (words[0] === undefined) return [ask(shown(words), 'which program it starts is only known when it runs')]
    if (depth > DEEPEST) return [ask(shown(words), 'programs are nested too deep to follow')]
    if (++this.stepCount > MOST_STEPS || !this.effort.spend(STEP_EFFORT)) return [ask('the rest', TOO_MUCH)]
    if (readsCommandsFromInput(words)) this.readerCount += 1
    this.printed.push(...printedBy(words))
    const starts = readStartedCommands(words)
    const written = this.judgeProgram(words)
    if (!starts) return [written]
    // A rule for exactly this text was written by someone who saw it; one for the wrapper alone was not.
    const isExact =
      written.effect === 'allow' && written.rule?.kind === 'command' && written.rule.pattern.length === words.length
    const inner = [
      ...starts.programs.flatMap((program) => this.judgeWords(program, depth + 1)),
      ...starts.texts.flatMap((text) => this.judgeText(text, depth)),
      ...this.judgeHints(starts.hints, depth + 1),
    ]
    if (isExact) return [written, ...inner.filter((step) => step.effect === 'deny')]
    const restricts = written.rule !== undefined && written.effect !== 'allow'
    const own = restricts || !(starts.isTransparent || starts.ownWords) ? [written] : []
    if (starts.ownWords) own.push(this.judgeProgram(starts.ownWords))
    return [...own, ...inner, ...starts.notes.map((why) => ask(shown(words), why))]
  }

  judgeText(text: string, depth: number): JudgedStep[] {
    if (!this.context.grammar) return [ask(shorten(text), 'shell text cannot be read: the grammar is not loaded')]
    const read = readShellText(text, this.context.grammar, this.effort)
    const { commands, unclear, inputs } = read
    const [readersBefore, printedBefore] = [this.readerCount, this.printed.length]
    const steps = commands.flatMap(({ words }) => this.judgeWords(words, depth + 1))
    this.printed.push(...inputs)
    const fed = this.readerCount > readersBefore ? this.printed.slice(printedBefore) : []
    const hints = this.judgeHints([...read.hints, ...fed], depth + 1)
    const rest = [...unclear, ...this.otherFolder(read), ...this.unwritable(read)].map((why) => ask('shell text', why))
    return steps.length + hints.length + rest.length === 0
      ? [ask(shorten(text), 'it holds no command')]
      : [...steps, ...hints, ...rest]
  }

  /** Of what may end up as a command only what a rule denies or asks about. */
  private judgeHints(hints: readonly (string | Words)[], depth: number): JudgedStep[] {
    const steps: JudgedStep[] = []
    for (const hint of hints) {
      const length = typeof hint === 'string' ? hint.trim().length : hint.length
      const key = typeof hint === 'string' ? `text ${hint}` : `words ${JSON.stringify(hint)}`
      if (length === 0 || this.hintsSeen.has(key)) continue
      this.hintsSeen.add(key)
      this.hintCharacters += length
      if (++this.hintCount > MOST_HINTS || this.hintCharacters > MOST_HINT_CHARACTERS || depth > DEEPEST)
        return [...steps, ask('the rest', TOO_MUCH)]
      const found = typeof hint === 'string' ? this.judgeText(hint, depth) : this.judgeWords(hint, depth)
      steps.push(...found.filter((step) => step.effect !== 'allow' && (step.rule ?? step.because === TOO_MUCH)))
    }
    return steps
  }

  private judgeProgram(words: Words): JudgedStep {
    const about = shown(words)
    const known = words.every((word) => word !== undefined) ? { words: [...words] as string[] } : {}
    const traits = classifyCommand(words)
    const common = { about, ...known, ...(traits.length > 0 && { traits }) }
    const candidates = this.candidates(words[0] ?? '')
    const rule = strictestRule(candidates.filter((candidate) => this.matches(candidate, words)))
    if (!rule) return { effect: 'ask', because: 'no rule matches', cause: 'open', ...this.nearly(words), ...common }
    const step: JudgedStep = {
      effect: rule.effect,
      because: ruleCause(rule),
      cause: 'rule',
      rule,
      ruleId: rule.id,
      ...common,
    }
    if (rule.effect === 'ask') return { ...step, ...this.nearly(words) }
    if (rule.effect === 'deny') return step
    // Arguments that are only known at run time could be any of the risky ones.
    const risk = known.words ? findRiskyArgument(known.words) : 'an argument is only known when it runs'
    if (risk === undefined) return step
    return { effect: 'ask', because: risk, cause: 'unclear', nearly: ruleName(rule), ...common }
  }

  /** Rules that name the program as written, or by the last part of its path. */
  private candidates(program: string): readonly CommandRule[] {
    const asWritten = rulesFor(this.rules.commands, program)
    const name = programName(program)
    return name === program ? asWritten : [...asWritten, ...rulesFor(this.rules.commands, name)]
  }

  /** After a change of folder, programs read the settings of another project. */
  private otherFolder({ commands }: ReadText): string[] {
    const leaves = commands.some(({ words: [program, ...args] }) => {
      if (program === 'pushd' || program === 'popd') return true
      if (program !== 'cd') return false
      const [folder] = args.filter((arg) => arg !== '--' && arg !== '-P' && arg !== '-L')
      return folder === undefined || !/^[^/~-]/.test(folder) || folder.split('/').includes('..')
    })
    return leaves && commands.length > 1 ? ['it goes on in another folder'] : []
  }

  private unwritable({ writes, commands }: ReadText): string[] {
    const { place } = this
    if (!place) return writes.map(({ text }) => `it redirects (${text})`)
    const moves = commands.some(({ words: [program] }) => program !== undefined && /^(cd|pushd|popd)$/.test(program))
    return writes
      .filter(({ path }) => (moves && !path.startsWith('/')) || !mayWrite(path, place.cwd, place.writable))
      .map(({ text }) => `it writes outside the folders that may be written (${text})`)
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
    for (const rule of this.candidates(program)) {
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

/** What `echo` and `printf` put into a pipe: in front of a shell it is a command. */
function printedBy(words: Words): string[] {
  const [program, ...args] = words
  if (program === undefined || !/^(echo|printf|print)$/.test(programName(program))) return []
  const known = args.filter((arg) => arg !== undefined)
  return known.length > 1 ? [...known, known.join(' ')] : known
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
