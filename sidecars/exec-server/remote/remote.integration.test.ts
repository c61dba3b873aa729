import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EXEC_SERVER_FILE, startExecServerAlone } from '../../testing/exec-server-alone.ts'
import { RelayService } from '../../testing/relay-service.ts'
import { ExecClient, type ExecProcess } from '../client/index.ts'
import { relayConnector } from './relay-connector.ts'
import { formatRelayFrame } from './relay-frame.ts'

const ENVIRONMENT = 'env_1-x'
let service: RelayService
let tmp: string
const ends: (() => Promise<unknown> | void)[] = []
beforeEach(async () => {
  service = await RelayService.start()
  tmp = mkdtempSync(join(tmpdir(), 'gatehouse-remote-'))
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  service.stop()
  rmSync(tmp, { recursive: true, force: true })
})

/** With GATEHOUSE_CODEX the executor is that program: our way to reach one is then tested against it. */
const codex = process.env.GATEHOUSE_CODEX

/** The built server with `--remote`. */
function startExecutor(args: string[] = [], stdin?: string) {
  const isForwarding = args[0] === 'forward'
  const remote = ['--remote', `${service.url}/`, '--environment-id', ENVIRONMENT]
  const all = isForwarding ? [...args, ...remote] : [...remote, ...args]
  const [program, before] = codex ? [codex, ['exec-server']] : [process.execPath, [EXEC_SERVER_FILE]]
  const child = spawn(program, [...before, ...all], {
    env: { ...process.env, TMPDIR: tmp, CODEX_HOME: tmp, CODEX_API_KEY: 'the-key' },
    stdio: 'pipe',
  })
  let stderr = ''
  child.stderr.on('data', (bytes) => (stderr += String(bytes)))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  ends.push(() => {
    child.kill('SIGTERM')
    return exited
  })
  if (stdin !== undefined) child.stdin.write(stdin)
  return { child, exited, stderr: () => stderr }
}
const isThere = () => expect.poll(() => service.executor?.readyState).toBe(1)
const connect = (options: { connectTimeoutMs?: number; recoveryMs?: number } = {}) => {
  const client = new ExecClient({
    connect: relayConnector({ baseUrl: service.url, environmentId: ENVIRONMENT, token: 'mine' }),
    ...options,
  })
  ends.push(() => client.close())
  return client
}
const textOf = async (process: ExecProcess) => {
  const chunks: Uint8Array[] = []
  for await (const output of process.output) if (output.kind === 'output') chunks.push(output.bytes)
  return Buffer.concat(chunks).toString()
}
const output = async (client: ExecClient, argv: string[]) => {
  const process = await client.start({ argv, cwd: '/tmp', env: { PATH: '/usr/bin:/bin' } })
  const text = await textOf(process)
  return { text, exitCode: (await process.exited).exitCode }
}

describe('an executor that is registered', () => {
  it('runs commands for whom the registry lets in, sealed on the way', async () => {
    startExecutor()
    await isThere()
    const seen: Buffer[] = []
    service.onFrame = (frame, _, pass) => {
      seen.push(frame)
      pass(frame)
    }
    const client = connect()
    expect(await output(client, ['sh', '-c', 'echo secret-word; exit 3'])).toEqual({
      text: 'secret-word\n',
      exitCode: 3,
    })
    const big = await output(client, ['head', '-c', '3000000', '/dev/zero'])
    expect(big.text.length).toBe(3_000_000)
    const content = Buffer.alloc(2_000_000, 'file')
    await client.files.write(join(tmp, 'big'), content)
    expect(content.equals(await client.files.read(join(tmp, 'big')))).toBe(true)
    expect(Buffer.concat(seen).includes('secret-word')).toBe(false)
    expect(Math.max(...seen.map((frame) => frame.length))).toBeLessThan(262_144)
    expect(service.calls.map(({ action, headers }) => [action, headers.authorization])).toEqual([
      ['register', 'Bearer the-key'],
      ['connect', 'Bearer mine'],
      ['validate', 'Bearer the-key'],
    ])
    expect(service.calls[2]?.headers['x-codex-noise-stream-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it.skipIf(codex)('keeps its own token from commands', async () => {
    startExecutor()
    await isThere()
    const client = connect()
    const process = await client.start({
      argv: ['/usr/bin/env'],
      cwd: '/tmp',
      envPolicy: { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
    })
    const text = await textOf(process)
    expect(text).toContain('PATH=')
    expect(text).not.toContain('the-key')
  })

  it('comes back after the rendezvous was lost, and so do its sessions', async () => {
    startExecutor()
    await isThere()
    const client = connect({ connectTimeoutMs: 2_000 })
    const running = client.start({
      argv: ['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done'],
      cwd: '/tmp',
      env: { PATH: '/usr/bin:/bin' },
    })
    const process = await running
    const lost = service.executor
    for (const harness of service.harnesses.values()) harness.terminate()
    service.executor = undefined
    lost?.terminate()
    const text = await textOf(process)
    expect(text).toBe('1\n2\n3\n4\n5\n6\n7\n8\n')
    expect(service.executorConnections).toBe(2)
    expect(service.calls.filter(({ action }) => action === 'register')).toHaveLength(1)
  })

  it('hands its streams to an exec server that runs already', async () => {
    const server = await startExecServerAlone()
    ends.push(() => server.stop())
    startExecutor(['forward', '--connect', server.url])
    await isThere()
    const client = connect({ recoveryMs: 300 })
    expect(await output(client, ['sh', '-c', 'echo $PPID; exit 4'])).toEqual({ text: `${server.pid}\n`, exitCode: 4 })
    const big = await output(client, ['head', '-c', '3000000', '/dev/zero'])
    expect(big.text.length).toBe(3_000_000)
    const content = Buffer.alloc(2_000_000, 'file')
    await client.files.write(join(tmp, 'big'), content)
    expect(content.equals(await client.files.read(join(tmp, 'big')))).toBe(true)
    await server.stop()
    await expect(client.readStatus()).rejects.toThrow()
  })

  it('registers anew when the rendezvous no longer knows it', async () => {
    service.refusesExecutors = 401
    startExecutor()
    await expect.poll(() => service.calls.filter(({ action }) => action === 'register').length).toBeGreaterThan(1)
    service.refusesExecutors = undefined
    await isThere()
  })

  it('takes its token from stdin, and ends when stdin ends', async () => {
    const { child, exited } = startExecutor(['--registration-bearer-stdin', '--exit-on-stdin-close'], 'from-stdin\n')
    await isThere()
    expect(service.calls[0]?.headers.authorization).toBe('Bearer from-stdin')
    child.stdin.end()
    expect(await exited).toBe(0)
  })
})

it('who connects is refused when the registry says no', async () => {
  service.override = ({ action }) => (action === 'validate' ? { body: { valid: false } } : undefined)
  startExecutor()
  await isThere()
  await expect(connect().connect()).rejects.toThrow(/refused the connection/)
})

it('frames that nobody can read do no harm', async () => {
  startExecutor()
  await isThere()
  const client = connect()
  await client.connect()
  service.executor?.send('text')
  service.executor?.send(Buffer.from('no frame'))
  service.executor?.send(
    formatRelayFrame({ streamId: 'unknown', body: { kind: 'data', seq: 0, payload: Buffer.from('x') } }),
  )
  expect(await output(client, ['echo', 'still here'])).toEqual({ text: 'still here\n', exitCode: 0 })
  expect(service.executorConnections).toBe(1)
})

it('with an error of the registry at its start it ends with 1 and says so', async () => {
  service.override = () => ({ status: 500, body: { error: { code: 'c1', message: 'm1' } } })
  const { exited, stderr } = startExecutor()
  expect(await exited).toBe(1)
  expect(stderr()).toContain('environment registry request failed (500 Internal Server Error, c1): m1')
})
