import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

describe.each(Object.entries(BYPASS_ATTEMPTS))('%s', (_, attempts) => {
  it.each(attempts)('is never allowed: %j', (text) => {
    expect(verdictOf(text)).not.toBe('allow')
  })
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
]
it.each(ALLOWED)('is allowed: %j', (text) => {
  expect(verdictOf(text)).toBe('allow')
})

/** A folder that only the command can write in, without network and other processes. */
function runConfined(folder: string, text: string): void {
  spawnSync(
    'bwrap',
    [
      ['--ro-bind', '/', '/', '--tmpfs', '/tmp', '--bind', folder, folder, '--dev', '/dev', '--proc', '/proc'],
      ['--unshare-all', '--die-with-parent', '--new-session', '--chdir', folder],
      ['--clearenv', '--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'HOME', folder, '--setenv', 'PWD', folder],
      ['--', 'timeout', '-s', 'KILL', '5', 'bash', '-c', text],
    ].flat(),
    { stdio: 'ignore', timeout: 15_000 },
  )
}
const canConfine = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0

describe.skipIf(!canConfine)('run for real, confined', () => {
  let root: string
  let template: string
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'gatehouse-attempts-'))
    template = join(root, 'template')
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
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    writeFileSync(join(template, 'f'), 'one\ntwo\nthree\nfour\n')
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  /** Whether the line left the mark in a fresh folder. */
  function leavesMark(text: string): boolean {
    const folder = join(root, 'run')
    rmSync(folder, { recursive: true, force: true })
    execFileSync('cp', ['-a', template, folder])
    runConfined(folder, text)
    return existsSync(join(folder, 'P'))
  }

  it('the attempts are real: most leave the mark where nobody stops them', { timeout: 600_000 }, () => {
    const failed = all.filter((text) => !leavesMark(text))
    expect(all.length).toBeGreaterThanOrEqual(150)
    // Some need programs that are not everywhere (ripgrep, npm).
    expect(all.length - failed.length).toBeGreaterThanOrEqual(250)
  })

  it('of all attempts and ordinary lines, none that is allowed leaves the mark', { timeout: 600_000 }, () => {
    const allowed = [...all, ...ALLOWED].filter((text) => verdictOf(text) === 'allow')
    expect(allowed.length).toBeGreaterThanOrEqual(ALLOWED.length)
    expect(allowed.filter(leavesMark)).toEqual([])
    expect(readFileSync(join(template, 'f'), 'utf8')).toContain('four')
  })
})
