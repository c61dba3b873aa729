/** The built command line, host and sidecars, as a person at a terminal uses them. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SIDECAR_NAMES } from '../../sidecars/protocol/host-channel.ts'
import { isSameProcess, readProcessIdentity, type ProcessEntry } from '../../sidecars/rpc/process-identity.ts'
import type { ApprovalView, ProcessView, SidecarView } from '../../preload/api.ts'
import { ControlClient } from '../control/control-client.ts'
import { readLiveHostFile } from '../control/host-file.ts'
import { CliHome } from './cli-fixture.ts'

let home: CliHome
beforeEach(() => {
  home = new CliHome()
})
afterEach(() => home.dispose())

interface Status {
  running: boolean
  kind: string
  pid: number
  sidecars: SidecarView[]
}
const status = () => home.json<Status>(['status'])
const sidecar = async (name: string) => (await status()).sidecars.find((view) => view.name === name)
const snapshot = async () => {
  const file = await readLiveHostFile(home.lockDir)
  const client = await ControlClient.connect(file ?? { controlSocket: '', controlToken: '' })
  const feed = await client.invoke('feed.snapshot')
  client.close()
  return feed
}
const isAlive = async (pid: number) => (await readProcessIdentity(pid)) !== undefined
/** What still runs, for a failure that can be understood. */
const commandLineOf = async (entry: ProcessEntry) =>
  (await isSameProcess(entry)) ? readFileSync(`/proc/${entry.pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : 'gone'
async function until(isReached: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isReached())) await new Promise((resolve) => setTimeout(resolve, 20))
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('a headless host', () => {
  test('serve tells how to use it, status shows three ready sidecars, SIGTERM leaves nothing', async () => {
    const host = await home.serve()
    expect(statSync(join(home.lockDir, 'host.json')).mode & 0o777).toBe(0o600)
    expect(statSync(host.file.controlSocket).mode & 0o777).toBe(0o600)
    const { sidecars, kind, pid } = await status()
    expect(kind).toBe('headless')
    expect(pid).toBe(host.child.pid)
    expect(sidecars.map(({ name, state }) => [name, state])).toEqual(SIDECAR_NAMES.map((name) => [name, 'ready']))
    expect(host.file).toMatchObject({
      mcpSocket: expect.stringContaining('mcp.sock'),
      execSocket: expect.stringContaining('exec.sock'),
      proxyHttp: expect.stringContaining('127.0.0.1'),
    })
    const below = await home.below(pid)
    host.child.kill('SIGTERM')
    expect(await host.finished).toMatchObject({ exitCode: 0, signal: null })
    for (const entry of below) await until(async () => (await commandLineOf(entry)) === 'gone')
    expect(readdirSync(home.lockDir).filter((name) => !name.startsWith('ledger'))).toEqual([])
    expect((await home.run(['status'])).exitCode).toBe(1)
  })

  test('a second host on the same data folder is refused and names the first', async () => {
    const host = await home.serve()
    const second = await home.run(['serve'])
    expect(second.exitCode).toBe(1)
    expect(second.stderr).toContain(`running already with this data folder (process ${host.child.pid}`)
  })

  test('E21 SIGKILL of the host leaves no process: none that ignores SIGTERM in a session of its own, no slow profile', async () => {
    writeFileSync(join(home.homeDir, '.bash_profile'), 'sleep 200\n')
    const host = await home.serve()
    const stubborn = home.start([
      'run',
      '--',
      'sh',
      '-c',
      'trap "" TERM HUP; setsid sh -c \'trap "" TERM HUP; sleep 300\' & echo up; wait',
    ])
    await stubborn.shows('up')
    const below = await home.below(host.child.pid ?? 0)
    expect(below.length).toBeGreaterThan(4)
    host.child.kill('SIGKILL')
    for (const entry of below) await until(async () => (await commandLineOf(entry)) === 'gone')
    expect(await stubborn.finished).toMatchObject({ exitCode: 125, stderr: expect.stringContaining('lost the host') })
    // And the next one starts on what it left.
    await home.serve()
  })

  test.each(SIDECAR_NAMES)('kill -9 of %s: it comes back and the next command works', async (name) => {
    await home.serve()
    const before = await sidecar(name)
    process.kill(before?.pid ?? 0, 'SIGKILL')
    await until(async () => {
      const now = await sidecar(name)
      return now?.state === 'ready' && now.generation >= 2
    })
    expect((await home.run(['run', '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7)
  })

  test('a crash loop ends as failed, is told by status, and the others work on', async () => {
    await home.serve()
    for (let crash = 1; crash <= 5; crash++) {
      await until(async () => (await sidecar('network-proxy'))?.generation === crash)
      await until(async () => (await sidecar('network-proxy'))?.state === 'ready')
      process.kill((await sidecar('network-proxy'))?.pid ?? 0, 'SIGKILL')
    }
    await until(async () => (await sidecar('network-proxy'))?.state === 'failed')
    const told = await home.run(['status'])
    expect(told.exitCode).toBe(1)
    expect(told.stdout.toString()).toContain('was ended by SIGKILL')
    expect(await sidecar('exec-server')).toMatchObject({ state: 'ready', generation: 1 })
  })

  test('corrupt host.json, host.lock and ledger are kept aside, named with the field, and survived', async () => {
    mkdirSync(home.lockDir)
    writeFileSync(join(home.lockDir, 'host.json'), '{"pid":"one"}')
    writeFileSync(join(home.lockDir, 'host.lock'), 'nonsense')
    writeFileSync(join(home.lockDir, 'ledger.jsonl'), '{"kind":"started"}\n')
    const before = await home.run(['status'])
    expect(before.stderr).toContain('host.json: pid: expected a whole number, got a string')
    const host = await home.serve()
    const kept = readdirSync(home.lockDir).filter((name) => name.includes('.corrupt-'))
    expect(kept.map((name) => name.split('.corrupt-')[0]).sort()).toEqual(['host.json', 'host.lock', 'ledger.jsonl'])
    const content = (start: string) =>
      readFileSync(join(home.lockDir, kept.find((name) => name.startsWith(start)) ?? ''), 'utf8')
    expect(content('host.json')).toBe('{"pid":"one"}')
    expect(content('host.lock')).toBe('nonsense')
    expect(content('ledger.jsonl')).toBe('{"kind":"started"}\n')
    host.child.kill('SIGTERM')
    const { stderr } = await host.finished
    for (const words of ['host.lock', 'host.json: pid:', 'ledger.jsonl:1: name:']) expect(stderr).toContain(words)
  })

  test('a data folder that cannot be used is a clear error', async () => {
    const blocked = join(home.dataDir, 'file')
    writeFileSync(blocked, '')
    const { exitCode, stderr } = await new CliHome({ GATEHOUSE_HOME: join(blocked, 'below') }).run(['serve'])
    expect(exitCode).toBe(1)
    expect(stderr).toContain(`${join(blocked, 'below')} cannot be created`)
    expect(stderr).toContain('Set GATEHOUSE_HOME to a folder of your own')
    expect(stderr).not.toContain('    at ')
  })

  test('a socket path in use is a clear error and the listener is left alone', async () => {
    mkdirSync(home.lockDir)
    chmodSync(home.lockDir, 0o700)
    const other = createServer().listen(join(home.lockDir, 'control.sock'))
    await once(other, 'listening')
    const { exitCode, stderr } = await home.run(['serve'])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('control.sock: another process listens there')
    expect(existsSync(join(home.lockDir, 'host.lock'))).toBe(false)
    other.close()
  })

  test('ports in use cost what needs them, each named with the next step, and nothing else', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    writeFileSync(
      join(home.dataDir, 'settings.json'),
      JSON.stringify({ execServerPort: port, mcpPort: port, proxyPort: port }),
    )
    await home.serve()
    const { sidecars } = await status()
    expect(sidecars.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready'])
    for (const { name, warnings } of sidecars) expect(warnings.join(), name).toContain(String(port))
    expect((await home.run(['status'])).stdout.toString()).toContain('another program uses the port')
    expect((await home.run(['run', '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7)
    other.close()
  })

  test('the token of agents does not open the control socket', async () => {
    const { file } = await home.serve()
    await expect(ControlClient.connect({ ...file, controlToken: file.agentToken })).rejects.toMatchObject({
      code: 'forbidden',
    })
  })
})

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
    const { pid } = await status()
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

test('stop returns when the host is gone, and the next one starts at once', async () => {
  const host = await home.serve()
  const stopped = await home.run(['stop'])
  expect([stopped.exitCode, stopped.stdout.toString()]).toEqual([0, 'stopped\n'])
  expect(await isAlive(host.child.pid ?? 0)).toBe(false)
  await home.serve()
  const again = await home.run(['stop'])
  expect(again.exitCode).toBe(0)
  expect((await home.run(['stop'])).stderr).toContain('Gatehouse is not running')
})

describe('gatehouse run without a host', () => {
  test('starts one, which ends by itself when nobody needs it', async () => {
    expect((await home.run(['run', '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7)
    const { pid, kind } = await status()
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

describe('rules and decisions', () => {
  test('a deny rule stops a run with 126, the reason, and nothing run', async () => {
    mkdirSync(join(home.dataDir, 'rules'), { recursive: true })
    writeFileSync(
      join(home.dataDir, 'rules/default.rules'),
      'prefix_rule(pattern=["touch"], decision="forbidden", justification="no touching here")\n',
    )
    await home.serve()
    const canary = join(home.dataDir, 'canary')
    const denied = await home.run(['run', '--', 'touch', canary])
    expect(denied.exitCode).toBe(126)
    expect(denied.stderr).toContain('no touching here')
    expect(existsSync(canary)).toBe(false)
    expect((await home.run(['run', '--', 'true'])).exitCode).toBe(0)
  })

  test('what an agent asks is listed, shown whole, and allowed or denied with words', async () => {
    await home.serve()
    const canary = join(home.dataDir, 'canary')
    const agent = home.start(['mcp'])
    const answers: { id?: number; result?: { content?: { text?: string }[]; isError?: boolean } }[] = []
    let unread = ''
    agent.child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (unread + chunk.toString()).split('\n')
      unread = lines.pop() ?? ''
      for (const line of lines) answers.push(JSON.parse(line) as (typeof answers)[number])
    })
    const send = (message: object) => agent.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const answer = async (id: number) => {
      await until(() => answers.some((message) => message.id === id))
      return answers.find((message) => message.id === id)
    }
    const call = (id: number, argv: string[]) =>
      send({ id, method: 'tools/call', params: { name: 'run_command', arguments: { argv, cwd: home.dataDir } } })

    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test-agent', version: '1' } },
    })
    await answer(1)
    send({ method: 'notifications/initialized' })

    const pending = async () => {
      let list: ApprovalView[] = []
      await until(async () => (list = await home.json<ApprovalView[]>(['approvals'])).length === 1)
      return list[0] as ApprovalView
    }
    call(2, ['touch', canary])
    const first = await pending()
    expect(first).toMatchObject({ agentName: 'test-agent', state: 'pending', subject: { argv: ['touch', canary] } })
    const long = await home.run(['approvals', '--long'])
    expect(long.stdout.toString()).toContain(`command  touch ${canary}`)
    const denied = await home.run(['deny', first.id, '--reason', 'not in this folder please'])
    expect(denied.stdout.toString()).toBe(`denied (once): touch ${canary}\n`)
    expect(JSON.stringify((await answer(2))?.result)).toContain('not in this folder please')
    expect(existsSync(canary)).toBe(false)

    call(3, ['touch', canary])
    const second = await pending()
    expect((await home.run(['approve', second.id, '--scope', 'forever'])).stderr).toContain(
      '--scope: expected once, session or always',
    )
    expect((await home.run(['approve', second.id])).stdout.toString()).toBe(`allowed (once): touch ${canary}\n`)
    await answer(3)
    expect(existsSync(canary)).toBe(true)
    const again = await home.run(['approve', second.id])
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('was decided before: allow, by person')])
    agent.child.stdin?.end()
    expect((await agent.finished).exitCode).toBe(0)
  })

  test('env leads a shell through the proxy', async () => {
    await home.serve()
    const { stdout } = await home.run(['env'])
    expect(stdout.toString()).toMatch(/^export HTTPS_PROXY='http:\/\/\S*127\.0\.0\.1:\d+'$/m)
    const variables = JSON.parse((await home.run(['env', '--format', 'json'])).stdout.toString()) as {
      HTTP_PROXY: string
    }
    // Our own machine is never reached through the proxy without a rule, so this is answered at once.
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const { hostname, port, username, password } = new URL(variables.HTTP_PROXY)
      const auth = username === '' ? {} : { auth: `${username}:${password}` }
      get({ hostname, port, path: 'http://127.0.0.1:9/', headers: { host: '127.0.0.1:9' }, ...auth }, resolve).on(
        'error',
        reject,
      )
    })
    answer.resume()
    expect([answer.statusCode, answer.headers['x-proxy-error']]).toEqual([403, expect.any(String)])
    const blocked = async () =>
      Object.values((await snapshot()).tables.connections).find(({ host, port }) => host === '127.0.0.1' && port === 9)
    await until(async () => (await blocked()) !== undefined)
    expect(await blocked()).toMatchObject({ state: 'blocked', sessionTitle: expect.stringContaining('terminal') })
  })
})

describe('wrong command lines', () => {
  test.each([
    [['nonsense'], 2, 'there is no command "nonsense"'],
    [['status', '--jsn'], 2, "status: Unknown option '--jsn'"],
    [['approve'], 2, 'approve: ID is missing'],
    [['run'], 2, 'run: COMMAND is missing'],
    [['logs', 'a', 'b'], 2, 'logs: unexpected argument "b"'],
    [['env', '--format', 'csh'], 2, '--format: expected sh, fish, json, got "csh"'],
    [['approvals'], 1, 'Gatehouse is not running; start the app, or run: gatehouse serve'],
  ])('%j is refused with the argument named', async (args, exitCode, words) => {
    const finished = await home.run(args)
    expect(finished.exitCode).toBe(exitCode)
    expect(finished.stderr).toContain(words)
    expect(finished.stderr).not.toContain('    at ')
  })

  test('every command has help, and help for run stops at its command', async () => {
    const overview = (await home.run(['--help'])).stdout.toString()
    for (const name of ['serve', 'status', 'approvals', 'approve', 'deny', 'processes', 'logs', 'run', 'env', 'mcp']) {
      expect(overview).toContain(`  ${name}`)
      const help = await home.run([name, '--help'])
      expect([help.exitCode, help.stdout.toString()]).toEqual([0, expect.stringContaining(`gatehouse ${name}`)])
    }
  })
})
