import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
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
      timeout: 5_000,
      stdio: 'pipe',
    })
}

/** What shells read in ways of their own. */
const ODD_PIECES = [
  ...`; && || | & ' " \\ $ ( ) { } # = $x $( ! > < <<< ~ * ;; $' \\n \\' -c , (( [[ |&`.split(' '),
  ...'  _\n_\t_\r_\u00a0_`_\\\n_ #_>/dev/null _2>&1 _if _ then _ fi_time '.split('_'),
  ...`<<EOF\n_<<'EOF'\n_<<-EOF\n_\nEOF\n_\n\tEOF\n`.split('_'),
]

it('leaves a mark when something else is run, so that the test below can fail', () => {
  runForReal('ls; rm')
  expect(existsSync(canary())).toBe(true)
  rmSync(canary())
})

it('what is allowed runs nothing but what is allowed, whatever the text', { timeout: 60_000 }, () => {
  const odd = fc.constantFrom(...ODD_PIECES)
  const odds = fc.array(odd, { maxLength: 3 }).map((pieces) => pieces.join(''))
  const text = fc
    .tuple(
      fc.constantFrom('ls ', 'cat ', 'echo '),
      odds,
      fc.constantFrom('rm', 'rm ', ' rm', 'x'),
      odds,
      fc.constantFrom('', '\nrm', '\nEOF'),
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (line) => {
      if (judgeShellText(line, rules, context).verdict !== 'allow') return
      runForReal(line)
      expect([line, existsSync(canary())]).toEqual([line, false])
    }),
    { numRuns: 1_000 },
  )
})
