import fc from '../testing/fast-check.ts'
import { beforeAll, expect, it } from 'vitest'
import { judgeCommand, judgeShellText, type CommandContext, type CommandRules } from './judge-command.ts'
import { parseRuleFile } from './rule-file.ts'
import type { CommandRule } from './rule.ts'
import { loadShellGrammar } from './shell-grammar.ts'
import { textOf, WRAPPERS, type Tree } from '../testing/wrapped-commands.ts'

const RUNS = Number(process.env.GATEHOUSE_FUZZ_RUNS ?? 0)

const rules: CommandRules = {
  commands: parseRuleFile(
    'r',
    'prefix_rule([["ls", "cat", "echo", "find", "git", "python3", "node", "true"]]) prefix_rule(["wipe", "-rf"], "forbidden")',
  ).rules as CommandRule[],
  executables: new Map(),
}
let context: CommandContext
beforeAll(async () => {
  context = { grammar: await loadShellGrammar(), isFileOf: () => true, isTrustedSearchPath: () => true }
})

const verdictOf = (tree: Tree): string =>
  'text' in tree
    ? judgeShellText(tree.text, rules, context).verdict
    : judgeCommand({ argv: tree.words, envChanges: {} }, rules, context).verdict
const apply = (names: readonly string[]): Tree =>
  names.reduce<Tree>((tree, name) => WRAPPERS[name]!(tree), { words: ['wipe', '-rf', 'x'] })

it.each(Object.keys(WRAPPERS))('a denied command stays denied in: %s', (name) => {
  const tree = apply([name])
  expect([tree, verdictOf(tree)]).toEqual([tree, 'deny'])
})

it('a denied command stays denied however often and however it is wrapped', { timeout: 0 }, () => {
  const names = fc.array(fc.constantFrom(...Object.keys(WRAPPERS)), { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(names, (wraps) => {
      const tree = apply(wraps)
      // Quotes in quotes in quotes grow without bound; nobody reads such a line either.
      fc.pre(textOf(tree).length < 20_000)
      expect([wraps, verdictOf(tree)]).toEqual([wraps, 'deny'])
    }),
    { numRuns: RUNS || 400 },
  )
})

it('a command that asks is never allowed by wrapping it', { timeout: 0 }, () => {
  const names = fc.array(fc.constantFrom(...Object.keys(WRAPPERS)), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(names, (wraps) => {
      const tree = wraps.reduce<Tree>((inner, name) => WRAPPERS[name]!(inner), { words: ['unknown', 'x'] })
      fc.pre(textOf(tree).length < 20_000)
      // Code of an interpreter that a rule allows as a whole is allowed with all that it does.
      fc.pre(!wraps.some((name) => /python|node/.test(name)))
      expect([wraps, verdictOf(tree)]).not.toEqual([wraps, 'allow'])
    }),
    { numRuns: RUNS || 300 },
  )
})
