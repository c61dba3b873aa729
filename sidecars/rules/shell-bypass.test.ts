import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../testing/fast-check.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { judgeShellText, type CommandContext, type CommandRules } from './judge-command.ts'
import { parseRuleFile } from './rule-file.ts'
import type { CommandRule } from './rule.ts'
import { loadShellGrammar } from './shell-grammar.ts'

/** A search path on which allowed programs do nothing and every other one leaves a mark. */
let folder: string
let context: CommandContext
const rules: CommandRules = {
  commands: parseRuleFile('r', 'prefix_rule([["ls", "cat", "echo"]])').rules as CommandRule[],
  executables: new Map(),
}
const canary = () => join(folder, 'canary')
beforeAll(async () => {
  context = { grammar: await loadShellGrammar(), isFileOf: () => false, isTrustedSearchPath: () => false }
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-bypass-'))
  const put = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  for (const name of ['ls', 'cat']) put(name, 'exit 0')
  for (const name of ['rm', 'EOF', 'x']) put(name, `: > '${canary()}'`)
})
afterAll(() => rmSync(folder, { recursive: true }))

function runForReal(text: string): void {
  for (const shell of ['bash', 'dash'])
    spawnSync(`/bin/${shell}`, ['-c', text], {
      cwd: folder,
      env: { PATH: folder },
      input: '',
      timeout: 1_000,
      killSignal: 'SIGKILL',
      stdio: 'pipe',
    })
}

/** What shells read in ways of their own. */
const ODD_PIECES = [
  ...`; && || | & ' " \\ $ ( ) { } # = $x $( ! > < <<< ~ * ;; $' \\n \\' -c , (( [[ |&`.split(' '),
  ...'  _\n_\t_\r_\u00a0_`_\\\n_ #_>/dev/null _2>&1 _if _ then _ fi_time '.split('_'),
  ...`<<EOF\n_<<'EOF'\n_<<-EOF\n_\nEOF\n_\n\tEOF\n`.split('_'),
  // What grammars and shells have read differently.
  ...'\\`  $\n  $\t  $((  ))  ((  ;;&  ;&  \\$(  "$(  )"  x=  y=$  ${x:-  # `  EOF#  {a,b}  $"  [[  ]]'.split('  '),
]
/** Where texts begin: where a command is expected, and where only a value is. */
const OPENINGS = [
  'ls ',
  'cat ',
  'echo ',
  'x=`ls ',
  'x=$(ls ',
  'x="',
  'x=',
  'ls; x=$',
  'for x in ',
  'cat <<EOF\n',
  '( ',
  '[ ',
]
const ENDINGS = ['', '', '\nrm', '\nEOF', '`; ls', '); ls', '"; ls', '; do ls; done', ' ]']
const RUNS = Number(process.env.GATEHOUSE_FUZZ_RUNS ?? 0)

it('leaves a mark when something else is run, so that the test below can fail', () => {
  runForReal('ls; rm')
  expect(existsSync(canary())).toBe(true)
  rmSync(canary())
})

it('what is allowed runs nothing but what is allowed, whatever the text', { timeout: 0 }, () => {
  const odd = fc.constantFrom(...ODD_PIECES)
  const odds = fc.array(odd, { maxLength: 3 }).map((pieces) => pieces.join(''))
  const text = fc
    .tuple(
      fc.constantFrom(...OPENINGS),
      odds,
      fc.constantFrom('rm', 'rm ', ' rm', 'x'),
      odds,
      fc.constantFrom(...ENDINGS),
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (line) => {
      if (judgeShellText(line, rules, context).verdict !== 'allow') return
      runForReal(line)
      expect([line, existsSync(canary())]).toEqual([line, false])
    }),
    { numRuns: RUNS || 1_000 },
  )
})

/**
 * Texts with everything that is followed: variables, loops, conditions, functions, in any nesting. There are few
 * names and values, so that a variable that is used has often been set, and often to something else on another way.
 */
const STRUCTURED = fc.letrec<{ text: string }>((tie) => {
  const word = fc.constantFrom('$a', '"$b"', 'ls', 'rm', '${b}', '$1', "'$a'", '$b$a')
  const use = fc.constantFrom(
    '$a x',
    '"$b" x',
    'ls x',
    '$a',
    'f',
    'f $b',
    'f rm',
    ': x',
    'echo $a',
    '${b} "$a"',
    'g',
    'ls $1',
  )
  const value = fc.oneof(
    { arbitrary: fc.constantFrom('ls', 'rm'), weight: 6 },
    { arbitrary: fc.constantFrom('$a', '$b', '"$b"', '$1', 'r"m"', '$(ls)', '', 'cat'), weight: 2 },
  )
  const assignment = fc.tuple(fc.constantFrom('a', 'a', 'b'), value).map(([name, text]) => `${name}=${text}`)
  const two = fc.tuple(assignment, assignment).map((pair) => pair.join(' '))
  const jump = fc.constantFrom('break', 'continue', 'return', 'break 2', 'ls && break', 'false || return', 'shift')
  const test = fc.constantFrom('[ "$a" = rm ]', 'ls', 'ls', 'false', '! ls', '[ "$b" = ls ]')
  const odd = fc.constantFrom(
    'eval a=rm',
    'eval "$a"',
    'read a',
    'printf -v a rm',
    'set -- rm',
    'eval break',
    'command eval a=rm',
  )
  const t = tie('text')
  const several = fc.array(t, { minLength: 1, maxLength: 3 }).map((texts) => texts.join('; '))
  const nested = fc.oneof(
    fc.tuple(word, word, several).map(([one, other, body]) => `for b in ${one} ${other}; do ${body}; done`),
    several.map((body) => `for a in ls cat; do ${body}; done`),
    fc.tuple(test, several).map(([condition, body]) => `while ${condition}; do ${body}; break; done`),
    fc
      .tuple(test, several, several)
      .map(([condition, one, other]) => `if ${condition}; then ${one}; else ${other}; fi`),
    fc.tuple(test, several).map(([condition, body]) => `if ${condition}; then ${body}; fi`),
    fc.tuple(word, several, t).map(([of, one, other]) => `case ${of} in rm) ${one};; *) ${other};; esac`),
    fc.tuple(several, word).map(([body, argument]) => `f() { ${body}; }; f ${argument}`),
    fc.tuple(fc.constantFrom('f', 'g', 'ls'), several).map(([name, body]) => `${name}() { ${body}; }`),
    several.map((body) => `( ${body} )`),
    several.map((body) => `{ ${body}; }`),
    fc.tuple(t, fc.constantFrom('&&', '||', '|', '|'), t).map((parts) => parts.join(' ')),
    several.map((body) => `echo $(${body})`),
  )
  return {
    text: fc.oneof(
      { depthSize: 'small', maxDepth: 4 },
      { arbitrary: use, weight: 6 },
      { arbitrary: assignment, weight: 6 },
      { arbitrary: two, weight: 1 },
      { arbitrary: jump, weight: 2 },
      { arbitrary: odd, weight: 1 },
      { arbitrary: nested, weight: 7 },
    ),
  }
}).text

it('what is followed through loops, variables and functions runs nothing but what is allowed', { timeout: 0 }, () => {
  const lenient = {
    ...rules,
    commands: parseRuleFile(
      'r',
      'prefix_rule([["ls", "cat", "echo", "eval", "read", "printf", "break", "continue", "return", "shift", "false", ":", "set", "unset", "command"]])',
    ).rules as CommandRule[],
  }
  const runs = RUNS || 250
  let allowed = 0
  fc.assert(
    fc.property(fc.array(STRUCTURED, { minLength: 1, maxLength: 4 }), (texts) => {
      const line = `a=ls; b=cat; ${texts.join('; ')}`
      if (judgeShellText(line, lenient, context).verdict !== 'allow') return
      allowed += 1
      runForReal(line)
      expect([line, existsSync(canary())]).toEqual([line, false])
    }),
    { numRuns: runs },
  )
  // A test of what is allowed is worth nothing when nothing is.
  expect(allowed).toBeGreaterThan(runs / 50)
})
