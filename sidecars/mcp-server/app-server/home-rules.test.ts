import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HomeRules } from './home-rules.ts'

let home: string
let problems: string[]
let rules: HomeRules
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'gatehouse-home-rules-'))
  await mkdir(join(home, 'rules'))
  problems = []
  rules = new HomeRules({ home, onProblem: (message) => problems.push(message) })
})
afterEach(() => rm(home, { recursive: true, force: true }))
const put = (name: string, text: string) => writeFile(join(home, 'rules', name), text)
const judge = (argv: string[], cwd = '/') => rules.judge(argv, cwd)
const verdict = async (text: string, cwd = '/') => (await judge(['bash', '-lc', text], cwd)).verdict

it('takes the strictest word of all files, and none where no rule speaks', async () => {
  await put('a.rules', 'prefix_rule(["ls"])\nprefix_rule(["git", "push"], "prompt")\n')
  await put('b.rules', 'prefix_rule(["rm"], "forbidden", justification="use trash")\n')
  expect(await verdict('ls | ls -l')).toBe('allow')
  expect(await verdict('ls; make')).toBe('none')
  expect(await verdict('ls > out.txt')).toBe('none')
  expect(await verdict('ls && git push')).toBe('ask')
  expect(await verdict('sudo sh -c "rm x"')).toBe('deny')
  expect((await judge(['rm', 'x'])).reason).toBe('"deny" in b.rules:1: use trash')
})

it('says what is dangerous or safe where no rule speaks', async () => {
  expect(await judge(['bash', '-lc', 'ls && rm -rf build'])).toMatchObject({
    verdict: 'none',
    dangerous: true,
    knownSafe: false,
    reason: 'rm -rf build: deletes without asking',
  })
  expect(await judge(['bash', '-lc', 'cat f | head -3'])).toMatchObject({ knownSafe: true, dangerous: false })
  expect(await judge(['bash', '-lc', 'cat f > g'])).toMatchObject({ knownSafe: false })
})

it('proposes the words of the first open part, and nothing that would be too wide or could not help', async () => {
  await put('a.rules', 'prefix_rule(["ls"])\n')
  const proposed = async (text: string) => (await judge(['bash', '-lc', text])).proposedPrefix
  expect(await proposed('ls && make test')).toEqual(['make', 'test'])
  for (const text of ['python3 -c 1', 'sudo ls', 'env X=1 make', 'rm -f x', 'make > f', "cat <<'E' | make\nE\n"])
    expect([text, await proposed(text)]).toEqual([text, text.startsWith('cat') ? ['cat'] : null])
})

it('accepts a prefix only when it lets the whole command through and is not too wide', async () => {
  await put('a.rules', 'prefix_rule(["ls"])\nprefix_rule(["mk", "deploy"], "prompt")\n')
  const accepts = (prefix: string[], text: string) => rules.acceptsPrefix(prefix, ['bash', '-lc', text], '/')
  expect(await accepts(['mk'], 'ls && mk test')).toBe(true)
  expect(await accepts(['mk'], 'mk test && npm ci')).toBe(false)
  expect(await accepts(['mk'], 'mk deploy')).toBe(false)
  expect(await accepts(['make'], 'make test')).toBe(false)
  expect(await accepts(['bash'], 'mk test')).toBe(false)
  expect(await accepts([], 'mk test')).toBe(false)
})

it('keeps an added rule on a line of its own, once, and obeys it at once', async () => {
  await put('default.rules', '# mine')
  await Promise.all([rules.addPrefix(['mkdir', '-p']), rules.addPrefix(['mkdir', '-p']), rules.addPrefix(['make'])])
  const lines = (await readFile(join(home, 'rules', 'default.rules'), 'utf8')).split('\n')
  expect(lines[0]).toBe('# mine')
  expect(lines.filter((line) => line === 'prefix_rule(pattern=["mkdir", "-p"], decision="allow")')).toHaveLength(1)
  expect(await verdict('mkdir -p x')).toBe('allow')
})

it('a broken file permits nothing and is named with its line, once', async () => {
  await put('a.rules', 'prefix_rule(["ls"])\n')
  await put('b.rules', 'prefix_rule(["make"])\nprefix_rule(["rm"], "forbidden")\nprefix_rule(["x"\n')
  expect([await verdict('ls'), await verdict('make'), await verdict('rm x')]).toEqual(['allow', 'none', 'deny'])
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain('rules/b.rules:')
})

describe('rules of a project', () => {
  let project: string
  const trust = (word: string) =>
    writeFile(join(home, 'settings.json'), JSON.stringify({ projects: { [project]: word } }))
  beforeEach(async () => {
    project = join(home, 'project')
    await mkdir(join(project, '.gatehouse/rules'), { recursive: true })
    await mkdir(join(project, 'below'))
    await writeFile(
      join(project, '.gatehouse/rules/p.rules'),
      'prefix_rule(["make"])\nprefix_rule(["rm"], "forbidden")\n',
    )
    await put('a.rules', 'prefix_rule(["make", "clean"], "forbidden")\n')
  })

  it('hold below a trusted project and nowhere else, and the owner’s own denials win over them', async () => {
    await trust('trusted')
    expect(await verdict('make test', join(project, 'below'))).toBe('allow')
    expect(await verdict('rm x', project)).toBe('deny')
    expect(await verdict('make clean', project)).toBe('deny')
    expect([await verdict('make test'), await verdict('rm x')]).toEqual(['none', 'none'])
  })

  it('do not count before the owner said so, and from then on at once', async () => {
    expect(await verdict('make test', project)).toBe('none')
    await trust('untrusted')
    expect([await verdict('make test', project), await verdict('rm x', project)]).toEqual(['none', 'none'])
    await trust('trusted')
    expect(await verdict('make test', project)).toBe('allow')
    await writeFile(join(home, 'settings.json'), '{"projects": ')
    expect(await verdict('make test', project)).toBe('none')
  })

  it('are named by their path when broken', async () => {
    await trust('trusted')
    await writeFile(join(project, '.gatehouse/rules/p.rules'), 'prefix_rule(["make"])\nprefix_rule(')
    expect(await verdict('make test', project)).toBe('none')
    expect(problems).toEqual([expect.stringContaining(`${join(project, '.gatehouse/rules/p.rules')}:2: `)])
  })
})
