import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CliHome } from './cli-fixture.ts'

let home: CliHome
let rulesFile: string
beforeEach(() => {
  home = new CliHome()
  rulesFile = join(home.homeDir, 'rs.rules')
  writeFileSync(
    rulesFile,
    'prefix_rule(["ls"])\nprefix_rule(["git", "status"])\nprefix_rule(["rm"], "prompt")\nprefix_rule(["rm", "-rf"], "forbidden", justification="use trash")\n',
  )
})
afterEach(() => home.dispose())

/** Exit code and the object on the last line. */
async function check(...args: string[]) {
  const { exitCode, stdout, stderr } = await home.run(['check', '--json', ...args])
  const last = stdout.toString().trimEnd().split('\n').at(-1) ?? ''
  return { exitCode, stderr, answer: last === '' ? undefined : (JSON.parse(last) as Record<string, unknown>) }
}

describe('gatehouse check', () => {
  it('ends with 0, 10 or 20 and the chain of the verdict, without a host', async () => {
    const rules = ['--rules', rulesFile]
    expect(await check(...rules, '--shell', 'git -C . status && ls')).toMatchObject({
      exitCode: 0,
      answer: {
        verdict: 'allow',
        chain: [{ effect: 'allow', rule: { file: 'rs.rules', line: 2 } }, { effect: 'allow' }],
      },
    })
    expect(await check(...rules, '--', 'make', 'all')).toMatchObject({ exitCode: 10, answer: { verdict: 'ask' } })
    expect(await check(...rules, '--shell', "bash -c 'ls; env X=1 rm -rf x'")).toMatchObject({
      exitCode: 20,
      answer: {
        verdict: 'deny',
        reason: 'rm -rf x: denied, "deny" in rs.rules:4: use trash',
        chain: expect.arrayContaining([
          expect.objectContaining({
            about: 'rm -rf x',
            rule: expect.objectContaining({ line: 4, justification: 'use trash' }),
            traits: [{ kind: 'dangerous', reason: 'deletes without asking' }],
          }),
        ]),
      },
    })
  })

  it('takes words behind -- as they are, and prints sentences without --json', async () => {
    const { exitCode, stdout } = await home.run(['check', '--rules', rulesFile, '--', 'ls', ';', 'rm', '-rf', 'x'])
    expect([exitCode, stdout.toString()]).toEqual([
      0,
      'allow\n  ls ; rm -rf x: allowed, "allow" in rs.rules:1 [only reads]\n',
    ])
  })

  it('reads the rules of the data folder, and those of a project only once it is trusted', async () => {
    mkdirSync(join(home.dataDir, 'rules'))
    writeFileSync(join(home.dataDir, 'rules', 'default.rules'), 'prefix_rule(["ls"])\n')
    const project = join(home.homeDir, 'project')
    mkdirSync(join(project, '.gatehouse', 'rules'), { recursive: true })
    mkdirSync(join(project, 'src'))
    writeFileSync(join(project, '.gatehouse', 'rules', 'team.rules'), 'prefix_rule(["make"])\n')
    const ask = (text: string) => check('--cwd', join(project, 'src'), '--shell', text)
    expect((await ask('ls')).exitCode).toBe(0)
    expect((await ask('make')).exitCode).toBe(10)
    writeFileSync(join(home.dataDir, 'settings.json'), JSON.stringify({ projects: { [project]: 'trusted' } }))
    expect((await ask('make')).exitCode).toBe(0)
    expect((await check('--cwd', home.homeDir, '--shell', 'make')).exitCode).toBe(10)
  })

  it('E76 a broken file permits nothing and is named; what the others deny holds', async () => {
    const broken = join(home.homeDir, 'b.rules')
    writeFileSync(broken, 'prefix_rule(["make"])\nprefix_rule(["x"], "forbidden"\n')
    const rules = ['--rules', rulesFile, '--rules', broken, '--rules', home.homeDir]
    expect(await check(...rules, '--', 'make')).toMatchObject({
      exitCode: 10,
      answer: {
        verdict: 'ask',
        problems: [
          { file: 'b.rules', line: 2 },
          { file: 'home', line: null, message: 'it cannot be read: it is not a regular file' },
        ],
      },
    })
    expect((await check(...rules, '--', 'rm', '-rf', 'x')).exitCode).toBe(20)
  })

  it('lets redirections write below named folders only', async () => {
    const work = join(home.homeDir, 'work')
    mkdirSync(join(work, '.git'), { recursive: true })
    const verdict = async (text: string, ...more: string[]) =>
      (await check('--rules', rulesFile, '--cwd', work, ...more, '--shell', text)).answer?.verdict
    expect(await verdict('ls > out.txt')).toBe('ask')
    for (const [text, wanted] of [
      ['ls > out.txt', 'allow'],
      ['ls >> sub/../out.txt 2>&1', 'allow'],
      ['ls > ../out.txt', 'ask'],
      ['ls > .git/config', 'ask'],
      ['ls > /etc/passwd', 'ask'],
      ['cd .. && ls > out.txt', 'ask'],
      ['ls > $X', 'ask'],
      ['ls > /dev/tcp/h/80', 'ask'],
    ])
      expect([text, await verdict(text!, '--writable', work)]).toEqual([text, wanted])
  })

  it.each([
    [[], 'the command is missing'],
    [['ls'], 'put -- before the command'],
    [['--shell', 'ls', '--', 'ls'], 'not both'],
    [['--rules', '/nowhere/x.rules', '--', 'ls'], '/nowhere/x.rules'],
    [['--cwd', '/nowhere', '--', 'ls'], '--cwd: /nowhere is not a folder'],
    [['--colour', '--', 'ls'], '--colour'],
  ])('tells bad usage from a verdict: %j', async (args, words) => {
    const { exitCode, stderr, answer } = await check(...args)
    expect([exitCode, answer]).toEqual([2, undefined])
    expect(stderr).toContain(words)
  })
})
