import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import { canonicalSubject, type Subject } from '../../sidecars/protocol/subject.ts'
import { ProgramPath } from '../../sidecars/rules/program-path.ts'
import { Rules, stepText } from './rules.ts'
import { grantView, ruleView } from './rule-view.ts'
import { loadShellGrammar, type ShellGrammar } from '../../sidecars/rules/shell-grammar.ts'

// Generous: the machine may be busy with many other tests.
vi.setConfig({ testTimeout: 20_000 })
const until = (isSo: () => unknown) => vi.waitUntil(isSo, { timeout: 15_000 })

const A = 'ses_a' as SessionId
const B = 'ses_b' as SessionId
let grammar: ShellGrammar
let folder: string
let rules: Rules
let troubles: (string | null)[]
beforeAll(async () => {
  grammar = await loadShellGrammar()
})
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'gatehouse-rules-')), 'rules')
  troubles = []
  const programs = new ProgramPath('/usr/bin:/bin')
  rules = new Rules({
    folder,
    context: {
      grammar,
      isFileOf: (name, path) => programs.isFileOf(name, path),
      isTrustedSearchPath: (path) => programs.isTrusted(path),
    },
    onTrouble: (message) => troubles.push(message),
  })
})
afterEach(() => rules.stop())

const command = (...argv: string[]): Subject => ({
  kind: 'command',
  argv,
  cwd: '/w',
  envChanges: {},
  tty: false,
  stdin: 'none',
  sandbox: 'none',
})
const shell = (text: string) => command('bash', '-lc', text)
const connection = (host: string, port = 443): Subject => ({ kind: 'connection', host, port, protocol: 'https' })
const judged = (subject: Subject, sessionId = A) => ({
  subject,
  subjectHash: createHash('sha256').update(canonicalSubject(subject)).digest('hex'),
  sessionId,
})
const verdict = (subject: Subject, sessionId = A) => rules.judge(judged(subject, sessionId)).verdict
const put = async (text: string, name = 'default.rules') => {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, name), text)
}
const proposed = (subject: Subject, wanted: 'allow' | 'deny' = 'allow') =>
  rules.propose(judged(subject), wanted)?.map((rule) => rule.text)
const saved = () => readFile(join(folder, 'default.rules'), 'utf8')

describe('rules that a decision makes', () => {
  it('E74 hold at once and are saved as exactly the words that were seen', async () => {
    await rules.start()
    const [rule] = rules.amend(rules.propose(judged(command('npm', 'test')), 'allow') ?? [])
    expect(verdict(command('npm', 'test'))).toBe('allow')
    expect(verdict(command('npm', 'test', '--', 'a.spec'))).toBe('allow')
    expect(verdict(shell('npm test && npm test'))).toBe('allow')
    expect(verdict(command('npm', 'run', 'test'))).toBe('ask')
    await until(() => troubles.length === 1)
    expect(await saved()).toBe('prefix_rule(pattern=["npm", "test"], decision="allow")\n')
    expect(rules.all().map(({ id, place }) => [id, place])).toEqual([[rule!.id, { file: 'default.rules', line: 1 }]])
  })

  it('E74 are the rules of the parts that nothing allowed yet, all of them', async () => {
    await put('prefix_rule(["git", "status"])')
    await rules.start()
    expect(proposed(shell('git status && make build; make docs | tee'))).toEqual([
      'prefix_rule(pattern=["make", "build"], decision="allow")',
      'prefix_rule(pattern=["make", "docs"], decision="allow")',
      'prefix_rule(pattern=["tee"], decision="allow")',
    ])
  })

  it.each([
    [command('python3', '-c', 'print(1)')],
    [command('bash', '-c', 'ls > x')],
    [command('env', 'X=1', 'ls')],
    [command('sudo', 'ls')],
    [command('git')],
    [command('timeout', '5', 'python3')],
    [command('npx', 'thing')],
    [command('rm', '-rf', './cache')],
    [shell('git status && rm -rf ./cache')],
    [shell('export A=1; npm ls')],
    [shell('make $X')],
    [command('pkill', 'x')],
    [command('a\u202eb')],
    [{ ...command('make', 'x'), envChanges: { MAKEFLAGS: '-n' } } as Subject],
    [{ kind: 'toolUse', toolName: 'Write', input: { path: 'x' } } as Subject],
    [{ kind: 'elicitation', serverName: 's', message: 'm', schema: {} } as Subject],
  ])('E74 and E69: none is offered for %j', async (subject) => {
    await rules.start()
    expect(proposed(subject)).toBeUndefined()
  })

  it('are not offered against a rule that asks or denies on purpose', async () => {
    await put('prefix_rule(["npm", "publish"], "prompt")\nnetwork_rule("a.test", decision="deny")')
    await rules.start()
    expect(proposed(command('npm', 'publish'))).toBeUndefined()
    expect(proposed(connection('a.test'))).toBeUndefined()
  })

  it('deny for good what was denied for good', async () => {
    await rules.start()
    rules.amend(rules.propose(judged(command('npm', 'publish')), 'deny') ?? [])
    expect(verdict(shell('npm publish --tag x'))).toBe('deny')
  })

  it('P19 allow this host and this port and nothing else', async () => {
    await rules.start()
    expect(proposed(connection('127.0.0.1', 8080))).toEqual([
      'network_rule(host="127.0.0.1", port=8080, decision="allow")',
    ])
    expect(rules.propose(judged(connection('127.0.0.1', 8080)), 'deny', true)?.map((rule) => rule.text)).toEqual([
      'network_rule(host="127.0.0.1", decision="deny")',
    ])
  })

  it('are not written twice', async () => {
    await put('# hand-made\nprefix_rule(pattern=["npm", "test"], decision="allow")\n')
    await rules.start()
    const again = rules.amend([rules.addText('prefix_rule(pattern=["npm", "test"], decision="allow")')])
    expect(again[0]?.place?.line).toBe(2)
    await rules.stop()
    expect((await saved()).match(/npm/g)).toHaveLength(1)
  })

  it('hold in memory while the disk refuses them, and that is said', async () => {
    await rules.start()
    await rm(folder, { recursive: true })
    await writeFile(folder, 'a file in the way')
    rules.amend(rules.propose(judged(command('npm', 'test')), 'allow') ?? [])
    expect(verdict(command('npm', 'test'))).toBe('allow')
    await until(() => troubles.length > 0)
    expect(troubles[0]).toMatch(/cannot be changed: .*New rules hold until Gatehouse stops; saving is tried again\.$/)
    expect(verdict(command('npm', 'test'))).toBe('allow')
  })

  it('hold in memory although their file is broken, and its other allow rules do not', async () => {
    await put('prefix_rule(["ls"])\nprefix_rule(["x"\n')
    await rules.start()
    rules.amend(rules.propose(judged(command('npm', 'test')), 'allow') ?? [])
    await until(() => troubles.length > 0)
    expect([verdict(command('npm', 'test')), verdict(command('ls'))]).toEqual(['allow', 'ask'])
    expect(await saved()).toBe(
      'prefix_rule(["ls"])\nprefix_rule(["x"\nprefix_rule(pattern=["npm", "test"], decision="allow")\n',
    )
  })

  it('can be typed by the owner, and what is wrong is said', async () => {
    await rules.start()
    expect(rules.addText('prefix_rule(["make"], "forbidden")').effect).toBe('deny')
    expect(verdict(command('make'))).toBe('deny')
    expect(() => rules.addText('prefix_rule([["env", "sudo"]])')).toThrow(
      'text: env starts other programs; name what may be run',
    )
    expect(() => rules.addText('prefix_rule(["make"')).toThrow('text: expected "," or "]" in a list')
  })
})

describe('decisions for a session', () => {
  it('are about exactly the same subject, in that session, until it ends', async () => {
    await rules.start()
    const subject = command('rm', '-rf', './cache')
    rules.grantForSession(judged(subject), 'allow', 'rm -rf ./cache')
    expect([
      verdict(subject),
      verdict(subject, B),
      verdict(command('rm', '-rf', './src')),
      verdict({ ...subject, cwd: '/elsewhere' } as Subject),
    ]).toEqual(['allow', 'ask', 'ask', 'ask'])
    rules.endSession(A)
    expect(verdict(subject)).toBe('ask')
  })

  it('give way to a rule that denies', async () => {
    await put('prefix_rule(["rm"], "forbidden")')
    await rules.start()
    rules.grantForSession(judged(command('rm', 'x')), 'allow', 'rm x')
    expect(verdict(command('rm', 'x'))).toBe('deny')
  })

  it('cover a file change only when they cover each of its files', async () => {
    await rules.start()
    const change = (...paths: string[]): Subject => ({
      kind: 'fileChange',
      changes: paths.map((path) => ({ path, kind: 'update', outsideRoots: path.startsWith('/etc/') })),
    })
    const why = (subject: Subject) => rules.judge(judged(subject)).chain.map(stepText)
    expect([why(change('/w/a', '/etc/x')), why(change('/w/a'))]).toEqual([
      ['file changes: asks, it changes files outside of the workspace'],
      ['file changes: asks, no rule covers file changes'],
    ])
    rules.grantForSession(judged(change('/w/a', '/w/b')), 'allow', 'a and b')
    expect([verdict(change('/w/a')), verdict(change('/w/b', '/w/a')), verdict(change('/w/a', '/w/c'))]).toEqual([
      'allow',
      'allow',
      'ask',
    ])
  })

  it('allow a literal host and port in their session, replace an opposite one, and end', async () => {
    await rules.start()
    const text = (word: string) => `network_rule(host="127.0.0.1", port=8080, decision="${word}")`
    rules.addSessionHost(text('deny'), A)
    const rule = rules.addSessionHost(text('allow'), A)
    expect([verdict(connection('127.0.0.1', 8080)), verdict(connection('127.0.0.1', 8080), B)]).toEqual([
      'allow',
      'ask',
    ])
    expect(rules.forProxy().rules).toEqual([
      { id: rule.id, pattern: '127.0.0.1', port: 8080, verdict: 'allow', scope: 'session', sessionId: A },
    ])
    expect(rules.judge(judged(connection('127.0.0.1', 8080))).chain.map(stepText)).toEqual([
      '127.0.0.1:8080: allowed, "allow" in this session',
    ])
    rules.endSession(A)
    expect(rules.forProxy().rules).toEqual([])
  })
})

describe('tools of other agents', () => {
  it('are judged by their command line when they have one', async () => {
    await put('prefix_rule(["ls"])\nprefix_rule(["sudo"], "forbidden")')
    await rules.start()
    const bash = (input: unknown): Subject => ({ kind: 'toolUse', toolName: 'Bash', input })
    expect([
      verdict(bash({ command: 'ls -l' })),
      verdict(bash({ command: 'ls; sudo x' })),
      verdict(bash({ cmd: 'ls' })),
      verdict({ kind: 'toolUse', toolName: 'Write', input: {} }),
    ]).toEqual(['allow', 'deny', 'ask', 'ask'])
  })
})

describe('removing', () => {
  it('takes a rule out of force and out of its file, and says when it is gone', async () => {
    await put('# head\nprefix_rule(["ls"])\n')
    await rules.start()
    const [rule] = rules.all()
    await rules.remove(rule!.id)
    expect(verdict(command('ls'))).toBe('ask')
    expect(await saved()).toBe('# head\n')
    await expect(rules.remove(rule!.id)).rejects.toMatchObject({ code: 'notFound' })
    const grant = rules.grantForSession(judged(command('ls')), 'allow', 'ls')
    await rules.remove(grant.id)
    expect(verdict(command('ls'))).toBe('ask')
  })
})

describe('removing', () => {
  it('takes out a rule whose saving is still under way', async () => {
    await rules.start()
    const [rule] = rules.amend(rules.propose(judged(command('npm', 'test')), 'allow') ?? [])
    const removed = rules.remove(rule!.id)
    expect(verdict(command('npm', 'test'))).toBe('ask')
    await removed
    expect(verdict(command('npm', 'test'))).toBe('ask')
    expect(await saved()).toBe('')
  })
})

describe('views', () => {
  it('show where a rule stands, how often it fired and what takes its effect', async () => {
    await put(`prefix_rule(["git"], "prompt")
prefix_rule(["git", "status"])
prefix_rule(["bash"])
network_rule("*", decision="allow")
network_rule("ask.test", decision="prompt")
`)
    await rules.start()
    const [git, status] = rules.all()
    rules.noteFired(git!.id, 5)
    rules.noteFired(git!.id, 4, 2)
    const view = (notApplied: string | null) => {
      const context = {
        all: rules.all(),
        heldBack: rules.forProxy().heldBack,
        notApplied,
        firedOf: (id: RuleId) => rules.firedOf(id),
      }
      return rules.all().map((rule) => ruleView(rule, context))
    }
    expect(view(null)[0]).toEqual({
      id: git!.id,
      kind: 'command',
      text: 'prefix_rule(["git"], "prompt")',
      words: 'Ask about commands that start with git, with anything after it',
      effect: 'ask',
      scope: 'always',
      sessionId: null,
      source: 'default.rules',
      line: 1,
      lastFiredAtMs: 5,
      fired: 3,
      flag: null,
    })
    expect(view(null).map(({ flag }) => flag)).toEqual([
      null,
      'has no effect: default.rules:1 decides first',
      'not followed: what it starts is judged by its own rules',
      'asked first for some of its hosts: default.rules:5',
      null,
    ])
    expect(status!.id).not.toBe(git!.id)
    expect(view('the network proxy is not running')[3]?.flag).toBe('not applied: the network proxy is not running')
    await put(`network_rule("**.a.test", decision="deny")
network_rule("x.a.test", port=443, decision="allow")
network_rule("**.b.test", "https", "allow")
network_rule("api?.b.test", "https", "allow")
network_rule("c.b.test", "https", "allow")
network_rule("c.b.test", "http", "allow")
prefix_rule(["make"])
prefix_rule(["make", "test"])
prefix_rule(["make"])
prefix_rule(["env"])
prefix_rule(["env", "make"])
`)
    await vi.waitUntil(() => rules.all().length === 11, { timeout: 10_000 })
    expect(view(null).map(({ flag }) => flag)).toEqual([
      null,
      'has no effect: default.rules:1 decides first',
      null,
      null,
      'says nothing new: default.rules:3 says the same',
      null,
      null,
      'says nothing new: default.rules:7 says the same',
      'says nothing new: default.rules:7 says the same',
      'not followed: what it starts is judged by its own rules',
      'not followed: what it starts is judged by its own rules',
    ])
    const grant = rules.grantForSession(judged(command('ls')), 'deny', 'ls')
    expect(grantView(grant, { firedOf: () => undefined })).toMatchObject({
      text: 'ls',
      words: 'Deny exactly this for this session',
      scope: 'session',
      sessionId: A,
    })
  })
})

describe('ProgramPath', () => {
  it('knows the file a name means, through links, and trusts no relative folder', async () => {
    const bin = await mkdtemp(join(tmpdir(), 'gatehouse-bin-'))
    await writeFile(join(bin, 'tool'), '#!/bin/sh\n', { mode: 0o755 })
    await writeFile(join(bin, 'plain'), 'x', { mode: 0o644 })
    const programs = new ProgramPath(`.:relative:${bin}:/usr/bin`)
    expect(programs.isFileOf('tool', join(bin, 'tool'))).toBe(true)
    expect(programs.isFileOf('plain', join(bin, 'plain'))).toBe(false)
    expect(programs.isFileOf('tool', '/usr/bin/tool')).toBe(false)
    expect(programs.find('package.json')).toBeUndefined()
    expect(
      [`/usr/bin:${bin}`, '/usr/bin', '', 'relative', `/usr/bin::${bin}`, '/evil'].map((path) =>
        programs.isTrusted(path),
      ),
    ).toEqual([true, true, false, false, false, false])
    programs.set('/nowhere')
    expect(programs.find('tool')).toBeUndefined()
  })
})
