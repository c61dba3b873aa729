/** The content of one rules file: rules that were read and checked, and what is wrong with the rest. */
import { InvalidPattern, parseRulePattern, type RulePattern } from '../protocol/host-pattern.ts'
import { exampleWords } from './example-words.ts'
import { PROTOCOL_NAMES } from './rule-text.ts'
import { ruleIdOf, type CommandRule, type Effect, type HostExecutable, type HostRule, type Rule } from './rule.ts'
import { matchesPattern } from './match-pattern.ts'
import { readRuleCalls, type Literal, type RuleCall, type SyntaxProblem } from './rule-syntax.ts'

export interface RuleFile {
  /** Name within the rules folder. */
  name: string
  rules: Rule[]
  executables: HostExecutable[]
  problems: SyntaxProblem[]
}

const COMMAND_EFFECTS: Record<string, Effect> = { allow: 'allow', prompt: 'ask', forbidden: 'deny' }
const NETWORK_EFFECTS: Record<string, Effect> = { allow: 'allow', prompt: 'ask', deny: 'deny' }

/** Reads a whole file. Good calls are kept beside bad ones; whoever uses them decides what a broken file may still say. */
export function parseRuleFile(name: string, text: string): RuleFile {
  const { calls, problems } = readRuleCalls(text)
  const file: RuleFile = { name, rules: [], executables: [], problems }
  const seen = new Map<string, number>()
  for (const call of calls)
    try {
      const builder = BUILDERS[call.name]
      if (!builder)
        throw new Fault(call.line, `${call.name} is unknown; prefix_rule, host_executable and network_rule are read`)
      const ordinal = seen.get(call.text) ?? 0
      seen.set(call.text, ordinal + 1)
      builder(new Arguments(call), { file, call, salt: `${name}#${ordinal}` })
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      problems.push({ line: error.line, message: error.message })
    }
  problems.sort((a, b) => a.line - b.line)
  return file
}

/**
 * Reads a text that must be exactly one rule, as typed by a person.
 * @throws Error with what is wrong
 */
export function parseSingleRule(text: string): Rule {
  const { rules, problems, executables } = parseRuleFile('', text)
  const [problem] = problems
  if (problem) throw new Error(problem.message)
  const [rule] = rules
  if (!rule || rules.length + executables.length !== 1)
    throw new Error('expected exactly one prefix_rule or network_rule')
  return rule
}

class Fault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

interface Target {
  file: RuleFile
  call: RuleCall
  salt: string
}

const BUILDERS: Record<string, (args: Arguments, target: Target) => void> = {
  prefix_rule(args, { file, call, salt }) {
    args.allow('pattern', 'decision', 'match', 'not_match', 'justification')
    const rule: CommandRule = {
      kind: 'command',
      id: ruleIdOf(call.text, salt),
      effect: args.choice('decision', COMMAND_EFFECTS, 'allow'),
      text: call.text,
      ...args.justification(),
      place: { file: file.name, line: call.line },
      pattern: readPattern(args),
    }
    checkExamples(args, rule.pattern)
    file.rules.push(rule)
  },

  network_rule(args, { file, call, salt }) {
    args.allow('host', 'protocol', 'decision', 'justification', 'port')
    const effect = args.choice('decision', NETWORK_EFFECTS)
    const { port, ...host } = readHost(args, effect)
    const protocol = args.optionalText('protocol')
    if (protocol !== undefined && !Object.hasOwn(PROTOCOL_NAMES, protocol.value))
      throw new Fault(protocol.line, `protocol: expected one of ${Object.keys(PROTOCOL_NAMES).join(', ')}`)
    const rule: HostRule = {
      kind: 'network',
      id: ruleIdOf(call.text, salt),
      effect,
      text: call.text,
      ...args.justification(),
      place: { file: file.name, line: call.line },
      host,
    }
    if (port !== undefined) rule.port = port
    if (protocol !== undefined) rule.protocol = PROTOCOL_NAMES[protocol.value]!
    file.rules.push(rule)
  },

  host_executable(args, { file, call }) {
    args.allow('name', 'paths')
    const name = args.text('name')
    if (name.value === '' || name.value.includes('/'))
      throw new Fault(name.line, 'name: expected a program name without a path')
    const paths = args.list('paths').items.map((item) => {
      const path = textOf(item, 'paths')
      if (!path.startsWith('/')) throw new Fault(item.line, `paths: ${JSON.stringify(path)} is not absolute`)
      if (path.slice(path.lastIndexOf('/') + 1) !== name.value)
        throw new Fault(
          item.line,
          `paths: the last part of ${JSON.stringify(path)} is not ${JSON.stringify(name.value)}`,
        )
      return path
    })
    file.executables.push({ name: name.value, paths, place: { file: file.name, line: call.line } })
  },
}

function readPattern(args: Arguments): string[][] {
  const list = args.list('pattern')
  if (list.items.length === 0) throw new Fault(list.line, 'pattern: expected at least one word')
  return list.items.map((item, i) => {
    const words = item.kind === 'list' ? item.items.map((word) => textOf(word, 'pattern')) : [textOf(item, 'pattern')]
    if (words.length === 0) throw new Fault(item.line, 'pattern: a list of alternatives is empty')
    if (i === 0 && words.includes('')) throw new Fault(item.line, 'pattern: the program is empty')
    return words
  })
}

function readHost(args: Arguments, effect: Effect): RulePattern {
  const { value, line } = args.text('host')
  const port = args.port()
  try {
    return parseRulePattern(value, effect, port)
  } catch (error) {
    if (error instanceof InvalidPattern) throw new Fault(line, `host: ${error.message}`)
    throw error
  }
}

/** `match` examples must match the rule's own pattern, `not_match` examples must not. */
function checkExamples(args: Arguments, pattern: string[][]): void {
  for (const [name, wanted] of [
    ['match', true],
    ['not_match', false],
  ] as const)
    for (const example of args.optionalList(name)?.items ?? []) {
      const words =
        example.kind === 'list' ? example.items.map((w) => textOf(w, name)) : exampleWords(textOf(example, name))
      if (!words) throw new Fault(example.line, `${name}: an example has a quote that is not closed`)
      if (matchesPattern(pattern, words) !== wanted)
        throw new Fault(
          example.line,
          `${name}: the example ${JSON.stringify(words.join(' '))} ${wanted ? 'does not match' : 'matches'} the pattern`,
        )
    }
}

function textOf(literal: Literal, name: string): string {
  if (literal.kind !== 'string') throw new Fault(literal.line, `${name}: expected a string`)
  return literal.value
}

/** The arguments of a call under their names. */
class Arguments {
  private readonly byName = new Map<string, Literal>()

  constructor(private readonly call: RuleCall) {}

  /** Names in the order in which they may be given without one; anything else is refused. */
  allow(...names: string[]): void {
    const { positional, named, name, line } = this.call
    if (positional.length > names.length) throw new Fault(line, `${name} takes at most ${names.length} arguments`)
    positional.forEach((value, i) => this.byName.set(names[i]!, value))
    for (const [key, value] of named) {
      if (!names.includes(key)) throw new Fault(value.line, `${name} has no argument ${key}`)
      if (this.byName.has(key)) throw new Fault(value.line, `the argument ${key} is given twice`)
      this.byName.set(key, value)
    }
  }

  text(name: string): { value: string; line: number } {
    return this.optionalText(name) ?? this.missing(name)
  }

  optionalText(name: string): { value: string; line: number } | undefined {
    const literal = this.byName.get(name)
    return literal && { value: textOf(literal, name), line: literal.line }
  }

  list(name: string): Extract<Literal, { kind: 'list' }> {
    return this.optionalList(name) ?? this.missing(name)
  }

  optionalList(name: string): Extract<Literal, { kind: 'list' }> | undefined {
    const literal = this.byName.get(name)
    if (literal && literal.kind !== 'list') throw new Fault(literal.line, `${name}: expected a list`)
    return literal
  }

  choice(name: string, choices: Record<string, Effect>, fallback?: Effect): Effect {
    const given = this.optionalText(name)
    if (!given) return fallback ?? this.missing(name)
    if (!Object.hasOwn(choices, given.value)) {
      const allowed = Object.keys(choices).map((choice) => `"${choice}"`)
      throw new Fault(given.line, `${name}: expected ${allowed.join(' or ')}, found ${JSON.stringify(given.value)}`)
    }
    return choices[given.value]!
  }

  port(): number | undefined {
    const literal = this.byName.get('port')
    if (!literal) return undefined
    if (literal.kind !== 'number' || literal.value < 1 || literal.value > 65535)
      throw new Fault(literal.line, 'port: expected a number from 1 to 65535')
    return literal.value
  }

  justification(): { justification?: string } {
    const given = this.optionalText('justification')
    if (!given) return {}
    if (given.value.trim() === '') throw new Fault(given.line, 'justification: expected a text that says something')
    return { justification: given.value }
  }

  private missing(name: string): never {
    throw new Fault(this.call.line, `${this.call.name} needs the argument ${name}`)
  }
}
