import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { READ_ONLY, sandboxOf } from '../../testing/confined-commands.ts'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient, type StartOptions } from '../../testing/exec-wire-client.ts'
import { isAlive } from '../../testing/is-alive.ts'

const BASH = '/bin/bash'
let server: ExecServerAlone
let client: ExecWireClient
let home: string
let scopes = 0
beforeAll(async () => {
  server = await startExecServerAlone()
})
afterAll(() => server.stop())
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'gatehouse-home-'))
  client = await ExecWireClient.open(server.url)
})
afterEach(() => {
  client.drop()
  rmSync(home, { recursive: true, force: true })
})

/** The startup file notes each time it is read. */
const profile = (text: string) => writeFileSync(join(home, '.profile'), `echo read >> "$HOME/reads"\n${text}\n`)
const reads = () =>
  existsSync(join(home, 'reads')) ? readFileSync(join(home, 'reads'), 'utf8').split('\n').length - 1 : 0
const newScope = (shell: object = { name: 'bash', path: BASH }) => ({ scopeId: `scope ${scopes++}`, shell })
/** Runs `SHELL -lc line …` and gives its output. */
const run = async (line: string, shellSnapshot: object | undefined, more: StartOptions & { args?: string[] } = {}) => {
  const { args = [], env = {}, ...options } = more
  const process = client.run([BASH, '-lc', line, ...args], {
    ...options,
    env: { PATH: '/usr/bin:/bin', HOME: home, ...env },
    ...(shellSnapshot && { shellSnapshot }),
  })
  const text = (await process.closed()).text().replaceAll('\r\n', '\n')
  return { text, exitCode: process.exitCode, stderr: process.text('stderr') }
}

it('are announced', async () => {
  expect((await client.call('environment/info')).capabilities).toMatchObject({ shellSnapshotV2: true })
})

describe('a login shell', () => {
  it.each([
    ['pipes', false],
    ['a terminal', true],
  ])('reads its startup files once for a scope, and commands on %s notice no difference', async (_, tty) => {
    profile(
      [
        'export PATH="$HOME/bin:$PATH" ADDED="with \'quotes\' and $(printf "a\\nb")"; unset REMOVED; not_exported=1',
        'greet() { echo "hi $1"; }; alias hello=\'greet there\'; alias ls=\'ls --color=never\'; both() { ls "$@"; }',
        'export -f greet; shopt -s extglob expand_aliases; set -o noclobber; umask 027',
      ].join('\n'),
    )
    mkdirSync(join(home, 'bin'))
    writeFileSync(join(home, 'bin', 'mine'), '#!/bin/sh\necho mine\n', { mode: 0o755 })
    const line = [
      'greet you; hello; bash -c "greet child"; mine; both -d /; echo !(x)*/.. | head -c 0; umask; set -o | grep noclobber',
      'echo "$0 $1 $# $- [$ADDED] [$REMOVED] [$CALL]"; echo "${BASH_ENV-none} $PWD"; exit 7',
    ].join('\n')
    const options = { tty, args: ['zero', 'one'], env: { REMOVED: 'still there' } }
    const plain = await run(line, undefined, { ...options, env: { ...options.env, CALL: '1' } })
    const shared = newScope()
    const first = await run(line, shared, { ...options, env: { ...options.env, CALL: '1' } })
    const second = await run(line, shared, { ...options, env: { ...options.env, CALL: '2' } })
    expect(plain.text).toContain('hi you\nhi there\nhi child\nmine\n/\n0027\n')
    expect(plain.exitCode).toBe(7)
    expect(first).toEqual(plain)
    expect(second).toEqual({ ...plain, text: plain.text.replace('[1]\n', '[2]\n') })
    expect(reads()).toBe(2)
  })

  it('is asked once by commands that start together', async () => {
    profile('sleep 0.2; export SEEN=yes')
    const shared = newScope()
    const all = await Promise.all(Array.from({ length: 6 }, () => run('echo "$SEEN"', shared)))
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: 6 }, () => 'yes\n'))
    expect(reads()).toBe(1)
  })

  it('belongs to one scope of one session', async () => {
    profile('export FROM=profile')
    const shared = newScope()
    await run('true', shared)
    await run('true', newScope())
    const other = await ExecWireClient.open(server.url)
    const env = { PATH: '/usr/bin:/bin', HOME: home }
    await other.run([BASH, '-lc', 'true'], { env, shellSnapshot: shared }).closed()
    other.drop()
    expect(reads()).toBe(3)
  })
})

describe('commands start as they were asked for when', () => {
  it.each<[string, string, StartOptions]>([
    ['startup files make something else of another value', 'export PATH="$HOME/bin:$PATH"', { env: { PATH: '/bin' } }],
    ['startup files change the folder', 'cd /', {}],
    ['startup files end the shell', 'exit 3', {}],
    ['bash reads a file of its own', 'export A=1', { env: { BASH_ENV: '/dev/null' } }],
  ])('%s', async (_, text, more) => {
    profile(text)
    const shared = newScope()
    await run('true', shared)
    const readsBefore = reads()
    const line = 'echo "$PATH $PWD"'
    expect(await run(line, shared, more)).toEqual(await run(line, undefined, more))
    expect(reads()).toBe(readsBefore + 2)
  })

  it.each<[string, string[], object]>([
    ['the shell is another', ['/bin/sh', '-lc', 'echo ran'], { name: 'sh', path: '/bin/sh' }],
    ['the shell is not the one that was named', [BASH, '-lc', 'echo ran'], { name: 'bash', path: '/usr/bin/bash' }],
    ['it is no login shell', [BASH, '-c', 'echo ran'], { name: 'bash', path: BASH }],
    ['it is no shell', ['/bin/echo', 'ran'], { name: 'bash', path: BASH }],
  ])('%s', async (_, argv, shell) => {
    profile('')
    const env = { PATH: '/usr/bin:/bin', HOME: home }
    const process = await client.run(argv, { env, shellSnapshot: newScope(shell) }).closed()
    expect(process.text()).toBe('ran\n')
    expect(reads()).toBe(argv[1] === '-lc' ? 1 : 0)
  })

  it('they are confined: nothing is run outside for them', async () => {
    profile(`echo outside > "${home}/outside" 2>/dev/null`)
    const sandbox = sandboxOf({ root: home, entries: READ_ONLY })
    expect((await run('echo ran', newScope(), { sandbox })).text).toContain('ran\n')
    expect(existsSync(join(home, 'outside'))).toBe(false)
  })
})

it('what startup files print, ask for and leave behind reaches no command', async () => {
  profile(
    [
      'printf "\\033[31mWelcome!\\033[0m\\nPATH=/evil/bin\\n"; echo oops >&2',
      'read -r answer; ( exec sleep 60 ) & declare -f; shopt -p',
    ].join('\n'),
  )
  appendFileSync(join(home, '.profile'), 'export LEFT=$!\n')
  const shared = newScope()
  const { text, stderr } = await run('echo "$LEFT"; case $PATH in *evil*) echo evil ;; esac', shared)
  expect(text).toMatch(/^\d+\n$/)
  expect(stderr).toBe('')
  await expect.poll(() => isAlive(Number(text))).toBe(false)
})

it.each([
  ['empty', ''],
  ['too long', 'ä'.repeat(129)],
])('a scope that is %s is refused by name', async (_, scopeId) => {
  const shellSnapshot = { scopeId, shell: { name: 'bash', path: BASH } }
  expect(await client.run([BASH, '-lc', 'true'], { shellSnapshot }).started).toMatchObject({
    error: { code: -32602, data: { field: 'shellSnapshot.scopeId' } },
  })
})
