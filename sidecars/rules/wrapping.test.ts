import fc from '../testing/fast-check.ts'
import { beforeAll, expect, it } from 'vitest'
import { judgeCommand, judgeShellText, type CommandContext, type CommandRules } from './judge-command.ts'
import { parseRuleFile } from './rule-file.ts'
import type { CommandRule } from './rule.ts'
import { loadShellGrammar } from './shell-grammar.ts'

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

/** A command as words, or as text that only a shell understands. */
type Tree = { words: string[] } | { text: string }
const quote = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
const textOf = (tree: Tree): string => ('text' in tree ? tree.text : tree.words.map(quote).join(' '))
/** Wrappers that take words get a shell when the command is text. */
const wordsOf = (tree: Tree): string[] => ('words' in tree ? tree.words : ['bash', '-c', tree.text])

const before =
  (...words: string[]) =>
  (tree: Tree): Tree => ({ words: [...words, ...wordsOf(tree)] })
const asText =
  (wrap: (text: string) => string) =>
  (tree: Tree): Tree => ({ text: wrap(textOf(tree)) })
/** The program and the rest of the words, each as shell text. */
const inText =
  (wrap: (parts: [program: string, rest: string]) => string) =>
  (tree: Tree): Tree => {
    const [program = '', ...rest] = wordsOf(tree).map(quote)
    return { text: wrap([program, rest.join(' ')]) }
  }
const asArgument =
  (...words: string[]) =>
  (tree: Tree): Tree => ({ words: [...words, textOf(tree)] })

/** Every way of wrapping that is followed; each keeps the command in plain sight of a careful reader. */
const WRAPPERS: Record<string, (tree: Tree) => Tree> = {
  'sh -c': asArgument('sh', '-c'),
  'bash -lc': asArgument('bash', '-lc'),
  'zsh -lc': asArgument('zsh', '-lc'),
  'bash -xc': asArgument('bash', '-xc'),
  'bash -o': asArgument('/bin/bash', '-o', 'pipefail', '-c'),
  env: before('env', 'A=1', '-u', 'B'),
  'env -S': (tree) => ({ words: ['env', '-S', wordsOf(tree).map(quote).join(' ')] }),
  sudo: before('sudo', '-n', '-u', 'root'),
  doas: before('doas'),
  xargs: before('xargs', '-0', '-n1'),
  find: (tree) => ({ words: ['find', '.', '-type', 'f', '-exec', ...wordsOf(tree), ';'] }),
  'find +': (tree) => ({ words: ['find', '.', '-execdir', ...wordsOf(tree), '{}', '+'] }),
  'git alias': (tree) => ({ words: ['git', '-c', `alias.a=!${textOf(tree)}`, 'a'] }),
  'git pager': (tree) => ({ words: ['git', '-c', `core.pager=${textOf(tree)}`, 'log'] }),
  'git foreach': asArgument('git', 'submodule', 'foreach'),
  'git bisect': before('git', 'bisect', 'run'),
  ssh: asArgument('ssh', '-p', '22', 'host'),
  // These join their words with blanks and hand them to a shell.
  'ssh words': (tree) => ({ words: ['ssh', '-o', 'BatchMode=yes', 'user@host', ...wordsOf(tree).map(quote)] }),
  timeout: before('timeout', '-k', '1', '5'),
  nohup: before('nohup'),
  nice: before('nice', '-n', '5'),
  stdbuf: before('stdbuf', '-oL'),
  setsid: before('setsid', '-f'),
  time: before('time', '-p'),
  command: before('command'),
  exec: before('exec', '-a', 'ls'),
  busybox: before('busybox'),
  script: asArgument('script', '-qc'),
  watch: (tree) => ({ words: ['watch', '-n1', ...wordsOf(tree).map(quote)] }),
  su: asArgument('su', 'root', '-c'),
  docker: before('docker', 'run', '--rm', 'image'),
  npx: before('npx', '--'),
  eval: asArgument('eval'),
  trap: (tree) => ({ words: ['trap', textOf(tree), 'EXIT'] }),
  alias: (tree) => ({ words: ['alias', `ls=${textOf(tree)}`] }),
  python: (tree) => ({ words: ['python3', '-c', `import os; os.system(${JSON.stringify(textOf(tree))})`] }),
  'python argv': (tree) => ({
    words: ['python3', '-c', `import subprocess as s; s.run(${JSON.stringify(wordsOf(tree))})`],
  }),
  node: (tree) => ({
    words: ['node', '-e', `require("child_process").execSync(${JSON.stringify(textOf(tree))})`],
  }),
  perl: (tree) => ({ words: ['perl', '-e', `system(${JSON.stringify(textOf(tree))})`] }),
  'pipe into a shell': asText((text) => `echo ${quote(text)} | sh`),
  'pipe from': asText((text) => `${text} | cat`),
  'pipe to': asText((text) => `ls | { ${text}\n}`),
  and: asText((text) => `ls && ${text}`),
  or: asText((text) => `ls || ${text}`),
  semicolon: asText((text) => `${text}; ls`),
  lines: asText((text) => `ls # a comment\n${text}\n`),
  background: asText((text) => `ls & ${text}`),
  subshell: asText((text) => `(${text}\n)`),
  group: asText((text) => `{ ${text}\n}`),
  not: asText((text) => `! { ${text}\n}`),
  substitution: asText((text) => `echo "$(${text}\n)"`),
  'process substitution': asText((text) => `cat <(${text}\n)`),
  if: asText((text) => `if true; then ${text}\nfi`),
  while: asText((text) => `while true; do ${text}\ndone`),
  for: asText((text) => `for a in 1 2; do ${text}\ndone`),
  case: asText((text) => `case a in a) ${text}\n;; esac`),
  function: asText((text) => `ls() {\n${text}\n}\nls`),
  'function called in a loop': asText((text) => `f() {\n${text}\n}; for i in 1 2; do f; done`),
  'function argument': inText(([program, rest]) => `f() { "$1" ${rest}; }; f ${program}`),
  variable: inText(([program, rest]) => `c=${program}; "$c" ${rest}`),
  'variable set on one way': inText(([program, rest]) => `c=ls; if ls; then c=${program}; fi; "$c" ${rest}`),
  'variable set before a break': inText(
    ([program, rest]) => `c=ls; while ls; do c=${program}; ls && break; c=ls; done; "$c" ${rest}`,
  ),
  'variable in a variable': inText(
    ([program, rest]) => `d=${program}; c=$d; eval ''; d=${program}; c="$d"; "$c" ${rest}`,
  ),
  'loop variable': inText(([program, rest]) => `for c in ls ${program}; do "$c" ${rest}; done`),
  redirection: asText((text) => `{ ${text}\n} >/dev/null 2>&1`),
  'here-document': asText((text) => `bash <<'GATE'\n${text}\nGATE\n`),
  'here-document beside': asText((text) => `cat <<'GATE'\ndata\nGATE\n${text}`),
  'here-string': asText((text) => `bash <<< ${quote(text)}`),
  'source of input': asText((text) => `source /dev/stdin <<< ${quote(text)}`),
  assignment: asText((text) => `A=1 bash -c ${quote(text)}`),
  'search path': asText((text) => `PATH=.:$PATH; ${text}`),
  'set earlier': asText((text) => `cd /; set -e; export A=1; ${text}`),
  'prompt command': asText((text) => `PROMPT_COMMAND=${quote(text)} bash -i`),
}

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

it('a denied command stays denied however often and however it is wrapped', { timeout: 120_000 }, () => {
  const names = fc.array(fc.constantFrom(...Object.keys(WRAPPERS)), { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(names, (wraps) => {
      const tree = apply(wraps)
      // Quotes in quotes in quotes grow without bound; nobody reads such a line either.
      fc.pre(textOf(tree).length < 20_000)
      expect([wraps, verdictOf(tree)]).toEqual([wraps, 'deny'])
    }),
    { numRuns: 400 },
  )
})

it('a command that asks is never allowed by wrapping it', { timeout: 120_000 }, () => {
  const names = fc.array(fc.constantFrom(...Object.keys(WRAPPERS)), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(names, (wraps) => {
      const tree = wraps.reduce<Tree>((inner, name) => WRAPPERS[name]!(inner), { words: ['unknown', 'x'] })
      fc.pre(textOf(tree).length < 20_000)
      // Code of an interpreter that a rule allows as a whole is allowed with all that it does.
      fc.pre(!wraps.some((name) => /python|node/.test(name)))
      expect([wraps, verdictOf(tree)]).not.toEqual([wraps, 'allow'])
    }),
    { numRuns: 300 },
  )
})
