import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BYPASS_ATTEMPTS } from '../testing/bypass-attempts.ts'
import { READING_RULES } from '../testing/reading-rules.ts'
import { judgeShellText, type CommandContext, type CommandRules } from './judge-command.ts'
import { ProgramPath } from './program-path.ts'
import { parseRuleFile } from './rule-file.ts'
import type { CommandRule } from './rule.ts'
import { loadShellGrammar } from './shell-grammar.ts'

const rules: CommandRules = {
  commands: parseRuleFile('rs.rules', READING_RULES).rules.filter(
    (rule): rule is CommandRule => rule.kind === 'command',
  ),
  executables: new Map(),
}
const programs = new ProgramPath('/usr/bin:/bin')
let context: CommandContext
beforeAll(async () => {
  context = {
    grammar: await loadShellGrammar(),
    isFileOf: (name, path) => programs.isFileOf(name, path),
    isTrustedSearchPath: (path) => programs.isTrusted(path),
  }
})
const verdictOf = (text: string) => judgeShellText(text, rules, context).verdict
const all = Object.values(BYPASS_ATTEMPTS).flat()

it.each(Object.entries(BYPASS_ATTEMPTS))('%s: none is ever allowed', (_, attempts) => {
  expect(attempts.filter((text) => verdictOf(text) === 'allow')).toEqual([])
})

/** Lines that people write and that the rules do allow; run for real they must leave no mark either. */
const ALLOWED = [
  'ls',
  'ls -la bin',
  'cat f e.sh',
  'echo touch P',
  `echo 'a; touch P' "b && touch P" c\\;touch\\ P`,
  "cat <<'EOF'\ntouch P\n$(touch P)\nEOF\n",
  'git status -sb',
  'git --no-pager log -p --stat',
  'git -C . diff --cached -- f',
  'git show HEAD',
  'git grep -n touch',
  'git branch -a',
  'find . -name "*.sh" -type f',
  'sed -n 1,20p f',
  'sort f | sort -r',
  'sort f && ls || cat f; echo done',
  'ls 2>/dev/null',
  'ls >/dev/null 2>&1',
  'timeout 5 git status',
  "bash -c 'ls | sort'",
  'nohup ls',
  'CI=1 ls',
  'env CI=1 ls',
  '! ls nope',
  '(ls; echo x)',
  '{ ls; echo x; }',
  'ls # touch P',
  'for i in f e.sh; do cat "$i"; done',
  'for c in ls cat; do $c f; done',
  'for i in 1 2; do for j in a b; do echo $i$j; done; done',
  'if ls f; then cat f; else echo none; fi',
  'if [ -f f ]; then cat f; elif [ -d bin ]; then ls bin; fi',
  '[[ ! -e nope ]] && echo none',
  '[ 1 -lt 2 ] && ls',
  'while ls nope; do echo x; done',
  'until ls f; do echo x; done',
  'case f in f|g) cat f;; *) ls;; esac',
  'x=f; cat $x; cat "$x"',
  'x=f; y=${x}; cat ./$y',
  'x="a; touch P"; echo "$x"',
  'x=$(git log -1); ls',
  'n=1; git log -$n',
  'show() { sed -n 1,2p "$1"; }; show f; show e.sh',
  'a() { ls; }; b() { a; git status; }; b',
  'f() { cat f; }; for i in 1 2; do f; done',
  'x=ls; (x=cat; $x f); $x',
  'for c in ls; do $c; done | sort',
  'x=git; $x status && $x log -1',
  'x=ls; if ls; then x=cat; fi; $x f',
]
it('ordinary lines are allowed', () => {
  expect(ALLOWED.filter((text) => verdictOf(text) !== 'allow')).toEqual([])
})

/**
 * Runs texts one after the other, each with bash in a fresh copy of the template that only it can write in, without
 * network and other processes; prints the number of each that left the mark. One sandbox for many: making one takes
 * longer than most texts.
 */
const DRIVER = `
texts=$1 template=$2; shift 2
for number do
  cd / && rm -rf "$HOME" && cp -a "$template" "$HOME" && cd "$HOME" || exit 1
  IFS= read -r -d '' text < "$texts/$number"
  timeout -s KILL 10 bash -c "$text" </dev/null >/dev/null 2>&1
  if [ -e "$HOME/P" ]; then echo "$number"; fi
done
`
/** As many as there are processors on a small machine. */
const SANDBOXES = 2

async function runConfined(root: string, numbers: readonly string[]): Promise<string[]> {
  const [texts, template] = [join(root, 'texts'), join(root, 'template')]
  const child = spawn(
    'bwrap',
    [
      ['--ro-bind', '/', '/', '--tmpfs', '/tmp', '--ro-bind', root, root, '--dev', '/dev', '--proc', '/proc'],
      ['--unshare-all', '--die-with-parent', '--new-session'],
      ['--clearenv', '--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'HOME', '/tmp/run'],
      ['--', 'bash', '-c', DRIVER, 'driver', texts, template, ...numbers],
    ].flat(),
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )
  let said = ''
  child.stdout.on('data', (bytes) => (said += String(bytes)))
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(0)
  return said.split('\n').filter((line) => line !== '')
}
const canConfine = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0

describe.skipIf(!canConfine)('run for real, confined', () => {
  let root: string
  /** The lines that left the mark. */
  let marking: Set<string>
  const lines = [...all, ...ALLOWED]

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'gatehouse-attempts-'))
    makeTemplate(join(root, 'template'))
    mkdirSync(join(root, 'texts'))
    lines.forEach((text, i) => writeFileSync(join(root, 'texts', String(i)), text))
    const shares = Array.from({ length: SANDBOXES }, (_, share) =>
      lines.map((_text, i) => String(i)).filter((_number, i) => i % SANDBOXES === share),
    )
    const left = await Promise.all(shares.map((numbers) => runConfined(root, numbers)))
    marking = new Set(left.flat().map((number) => lines[Number(number)]!))
  }, 600_000)
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  it('the attempts are real: most leave the mark where nobody stops them', () => {
    expect(all.length).toBeGreaterThanOrEqual(480)
    // Some need programs that are not everywhere (ripgrep, npm), some try what no shell falls for.
    expect(all.filter((text) => marking.has(text)).length).toBeGreaterThanOrEqual(380)
  })

  it('of all attempts and ordinary lines, none that is allowed leaves the mark', () => {
    const allowed = lines.filter((text) => verdictOf(text) === 'allow')
    expect(allowed.length).toBeGreaterThanOrEqual(ALLOWED.length)
    expect(allowed.filter((text) => marking.has(text))).toEqual([])
  })
})

/** What the attempts find in their folder. */
function makeTemplate(template: string): void {
  mkdirSync(join(template, 'bin'), { recursive: true })
  const put = (name: string, text: string, mode = 0o644) => {
    writeFileSync(join(template, name), text)
    chmodSync(join(template, name), mode)
  }
  const mark = `#!/bin/sh\n/usr/bin/touch P\n`
  put('f', 'one\ntwo\nthree\n')
  put('e.sh', 'touch P\n')
  put('e.js', 'require("fs").writeFileSync("P", "")\n')
  put('list', 'P\n')
  put('cmds', 'touch P\n')
  put('rgrc', '--pre=./p\n')
  for (const name of ['p', 'bin/ls', 'bin/git', 'bin/pre-commit']) put(name, mark, 0o755)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid', ...args], { cwd: template })
  git('init', '-q', '-b', 'main', '--template=')
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  writeFileSync(join(template, 'f'), 'one\ntwo\nthree\nfour\n')
}
