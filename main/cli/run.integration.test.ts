/** `gatehouse run` from the built files, as a person at a terminal uses it. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../preload/api.ts'
import { CliHome, isAlive, until } from './cli-fixture.ts'

let home: CliHome
beforeEach(() => {
  home = new CliHome()
})
afterEach(() => home.dispose())

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('gatehouse run', () => {
  beforeEach(() => home.serve())

  test('returns the exit code of the command, 128+N for a signal, 127 for no such program', async () => {
    expect((await home.run(['run', '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7)
    expect((await home.run(['run', 'true'])).exitCode).toBe(0)
    expect((await home.run(['run', '--', 'sh', '-c', 'kill -KILL $$'])).exitCode).toBe(137)
    const missing = await home.run(['run', '--', '/no/such/program'])
    expect([missing.exitCode, missing.stdout.toString()]).toEqual([127, ''])
    expect(missing.stderr).toBe('gatehouse: /no/such/program: No such file or directory (os error 2)\n')
    const text = await home.run(['run', '--', '/etc/passwd'])
    expect([text.exitCode, text.stderr]).toEqual([126, expect.stringContaining('/etc/passwd: Permission denied')])
  })

  test('stdout and stderr stay apart, byte for byte, and stdin reaches the command', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * 7919) % 256))
    const echoed = await home.run(['run', '--', 'cat'], bytes)
    expect(sha256(echoed.stdout)).toBe(sha256(bytes))
    const both = await home.run(['run', '--', 'sh', '-c', 'printf out; printf err >&2'])
    expect([both.stdout.toString(), both.stderr]).toEqual(['out', 'err'])
  })

  test('it runs in the folder and environment of the terminal', async () => {
    const { child, finished } = home.start(['run', '--', 'sh', '-c', 'pwd; echo $ONLY_HERE'], {
      cwd: '/usr',
      env: { ...home.env, ONLY_HERE: 'yes' },
    })
    child.stdin?.end()
    expect((await finished).stdout.toString()).toBe('/usr\nyes\n')
  })

  test('Ctrl-C reaches the command, whose answer counts', async () => {
    const polite = home.start([
      'run',
      '--',
      'sh',
      '-c',
      'trap "echo bye; exit 3" INT; echo up; while :; do sleep 0.05; done',
    ])
    await polite.shows('up')
    polite.child.kill('SIGINT')
    expect(await polite.finished).toMatchObject({ exitCode: 3, stdout: Buffer.from('up\nbye\n') })
    const plain = home.start(['run', '--', 'sh', '-c', 'echo up; exec sleep 300'])
    await plain.shows('up')
    plain.child.kill('SIGINT')
    expect(await plain.finished).toMatchObject({ exitCode: 130 })
  })

  test('when the terminal goes the command ends', async () => {
    const orphan = home.start(['run', '--', 'sh', '-c', 'echo $$; exec sleep 300'])
    await orphan.shows('\n')
    orphan.child.kill('SIGKILL')
    const pid = Number((await orphan.finished).stdout.toString())
    await until(async () => !(await isAlive(pid)))
  })

  test('a reader that leaves ends it as SIGPIPE would', async () => {
    const endless = home.start(['run', '--', 'yes'])
    await endless.shows('y')
    endless.child.stdout?.destroy()
    expect((await endless.finished).exitCode).toBe(141)
    await until(async () => (await home.json<ProcessView[]>(['processes'])).length === 0)
  })

  test('a terminal that does not read holds the command back, and the host does not grow', async () => {
    const { pid } = await home.status()
    const rssBytes = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
    const before = rssBytes()
    const flood = home.start(['run', '--', 'sh', '-c', 'head -c 200000000 /dev/zero; echo; echo end'])
    flood.child.stdout?.pause()
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(rssBytes() - before).toBeLessThan(80 * 1024 * 1024)
    flood.child.stdout?.resume()
    const { exitCode, stdout } = await flood.finished
    expect([exitCode, stdout.length, stdout.subarray(-5).toString()]).toEqual([0, 200_000_005, '\nend\n'])
  })

  test('it is a session and a process, with its output in logs', async () => {
    const running = home.start(['run', '--', 'sh', '-c', 'echo one; read line; echo two >&2; exit 4'])
    await running.shows('one')
    const [process] = await home.json<ProcessView[]>(['processes'])
    expect(process).toMatchObject({ state: 'running', argv: ['sh', '-c', 'echo one; read line; echo two >&2; exit 4'] })
    const followed = home.start(['logs', process?.id ?? '', '--follow'])
    await followed.shows('one')
    running.child.stdin?.end('go\n')
    expect((await running.finished).exitCode).toBe(4)
    expect(await followed.finished).toMatchObject({ exitCode: 0, stdout: Buffer.from('one\n'), stderr: 'two\n' })
    const again = await home.run(['logs', process?.id.slice(0, -2) ?? ''])
    expect([again.stdout.toString(), again.stderr]).toEqual(['one\n', 'two\n'])
    expect((await home.run(['logs', 'prc_nothing'])).stderr).toContain('there is no process prc_nothing')
  })

  test('with a terminal at both ends the command has one, of its size', async () => {
    const gatehouse = `${process.execPath} ${join(process.cwd(), 'bin/gatehouse')}`
    const child = spawn(
      'script',
      [
        '-qec',
        `stty cols 91 rows 33; ${gatehouse} run -- sh -c 'test -t 0 && test -t 1 && stty size; exit 5'`,
        '/dev/null',
      ],
      { env: home.env, stdio: ['pipe', 'pipe', 'inherit'] },
    )
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const [exitCode] = (await once(child, 'close')) as [number]
    expect([exitCode, text.trim()]).toEqual([5, '33 91'])
  })
})

describe('gatehouse run without a host', () => {
  test.each([
    ['a file', (path: string) => writeFileSync(path, ''), 'is not a folder'],
    [
      'a link to nowhere',
      (path: string) => symlinkSync('/nowhere/at/all', path),
      'is a symbolic link that leads nowhere',
    ],
  ])('with %s as its data folder it fails as itself, in one sentence', async (_name, make, words) => {
    const path = join(home.homeDir, 'odd')
    make(path)
    const { finished } = home.start(['run', '--', 'true'], { env: { ...home.env, GATEHOUSE_HOME: path } })
    expect(await finished).toMatchObject({
      exitCode: 125,
      stderr: expect.stringContaining(`gatehouse: Gatehouse could not be started: ${path} ${words}`),
    })
  })

  test('starts one, which ends by itself when nobody needs it', async () => {
    expect((await home.run(['run', '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7)
    const { pid, kind } = await home.status()
    expect(kind).toBe('headless')
    await until(async () => !(await isAlive(pid)))
    expect(existsSync(join(home.lockDir, 'host.lock'))).toBe(false)
  })

  test('two at once share one host', async () => {
    const [first, second] = await Promise.all([
      home.run(['run', '--', 'sh', '-c', 'sleep 1; exit 1']),
      home.run(['run', '--', 'sh', '-c', 'sleep 1; exit 2']),
    ])
    expect([first.exitCode, second.exitCode]).toEqual([1, 2])
  })
})
