import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { toPathUri } from '../../protocol/path-uri.ts'
import { READ_ONLY, sandboxOf } from '../../testing/confined-commands.ts'
import { startExecServerAlone, type ExecServerAlone } from '../../testing/exec-server-alone.ts'
import { ExecWireClient } from '../../testing/exec-wire-client.ts'

const pgrep = (...args: string[]): number[] => {
  try {
    return execFileSync('pgrep', args, { encoding: 'utf8' }).trim().split('\n').map(Number)
  } catch {
    return []
  }
}
const spawners = (server: ExecServerAlone) => pgrep('-P', String(server.pid), '-x', 'gatehouse-spawn')
const sleepers = (seconds: string) => pgrep('-fx', `sleep ${seconds}`)
const SOON = { timeout: 30_000, interval: 20 }

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-spawner-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const running: ExecServerAlone[] = []
afterEach(async () => {
  for (const server of running.splice(0)) {
    if (server.child.exitCode === null) server.child.kill('SIGKILL')
    await server.exited
  }
  for (const pid of pgrep('-f', '^sleep 986\\.')) process.kill(pid, 'SIGKILL')
})
async function start(env: Record<string, string> = {}) {
  const server = await startExecServerAlone({ tmp: folder, env })
  running.push(server)
  return { server, client: await ExecWireClient.open(server.url) }
}
const parentOfNext = async (client: ExecWireClient) =>
  Number((await client.run(['/bin/sh', '-c', 'echo $PPID']).closed()).text())
/** A server whose next processes are started by its helper. */
async function startWithSpawner() {
  const { server, client } = await start()
  await expect.poll(() => parentOfNext(client), SOON).not.toBe(server.pid)
  const [spawner = 0] = spawners(server)
  expect(await parentOfNext(client)).toBe(spawner)
  return { server, client, spawner }
}

describe.runIf(process.platform === 'linux')('a process that the helper starts', () => {
  it('is as if the server had started it', async () => {
    const { client } = await startWithSpawner()
    const run = (argv: string[], options = {}) => client.run(argv, options).closed()
    const text = async (argv: string[], options = {}) => (await run(argv, options)).text()
    expect(await text(['printf', '%s|', 'a b', '', "it's", 'é'])).toBe("a b||it's|é|")
    expect(await text(['/usr/bin/env'], { env: { Z: 'x=1', PERL5OPT: '-w', A: '', É: 'ü' } })).toBe(
      'Z=x=1\nPERL5OPT=-w\nA=\nÉ=ü\n',
    )
    expect(await text(['/usr/bin/env'], { env: {} })).toBe('')
    expect(await text(['/bin/sh', '-c', 'ps -o args= -p $$; pwd'], { arg0: '-login', cwd: 'file:///usr' })).toBe(
      '-login -c ps -o args= -p $$; pwd\n/usr\n',
    )
    // It leads its session, has the three descriptors and no signal that it would not have by itself.
    const seen = await text(['/bin/bash', '-c', 'ps -o sid=,pgid= -p $$; echo $$; ls /proc/$$/fd; :'])
    const [ids = '', pid = '', ...descriptors] = seen.trimEnd().split('\n')
    expect(ids.trim().split(/\s+/)).toEqual([pid, pid])
    expect(descriptors).toEqual(['0', '1', '2'])
    const masks = await text(['/bin/grep', '-E', '^Sig(Blk|Ign):', '/proc/self/status'])
    expect(masks.match(/0+$/gm)).toHaveLength(2)
    const outputs = await run(['/bin/sh', '-c', 'wc -c; echo to-err > /dev/stderr'])
    expect([outputs.text('stdout'), outputs.text('stderr')]).toEqual(['0\n', 'to-err\n'])
    const fed = await client.run(['cat', '/dev/stdin'], { pipeStdin: true }).running()
    await fed.write('by name', { closeStdin: true })
    expect((await fed.closed()).text()).toBe('by name')
  })

  it('tells how it ended', async () => {
    const { client } = await startWithSpawner()
    for (const [script, code] of [
      ['exit 0', 0],
      ['exit 37', 37],
      ['kill -KILL $$', 137],
      ['kill -FPE $$', 136],
      ['kill -PIPE $$', 141],
    ] as const) {
      const process = await client.run(['/bin/sh', '-c', script]).closed()
      expect(process.exitCode, script).toBe(code)
      expect(process.events.slice(-2)).toEqual(['exited', 'closed'])
    }
    const many = Array.from({ length: 60 }, (_, i) => client.run(['/bin/sh', '-c', `echo ${i}; exit ${i}`]))
    for (const [i, process] of many.entries()) {
      await process.closed()
      expect([process.exitCode, process.text()]).toEqual([i, `${i}\n`])
    }
  })

  it('gets its walls', async () => {
    const { client, spawner } = await startWithSpawner()
    const sandbox = sandboxOf({ root: folder, entries: READ_ONLY })
    const script = 'touch here || echo kept out; sleep 986.4'
    const options = { cwd: toPathUri(folder), env: { PATH: '/usr/bin:/bin' }, sandbox }
    const process = await client.run(['bash', '-c', script], options).running()
    await process.said('kept out\n')
    expect((await process.started).result).toMatchObject({ sandboxType: 'linuxSeccomp' })
    expect(pgrep('-P', String(spawner), '-x', 'bwrap')).toHaveLength(1)
    expect(existsSync(join(folder, 'here'))).toBe(false)
    await process.terminate()
    await process.closed()
    expect(process.exitCode).toBe(137)
    await expect.poll(() => sleepers('986.4'), SOON).toEqual([])
  })

  it('that cannot be executed is refused with the reason', async () => {
    const { client } = await startWithSpawner()
    const script = join(folder, 'no-interpreter')
    writeFileSync(script, 'echo read by a shell\n')
    chmodSync(script, 0o755)
    expect((await client.run([script]).closed()).text()).toBe('read by a shell\n')
    const kindOf = async (argv: string[], options = {}) => (await client.run(argv, options).started).error?.data
    expect(await kindOf(['/nonexistent/x'])).toMatchObject({ kind: 'spawnNotFound', part: 'program' })
    expect(await kindOf(['no-such-program'])).toMatchObject({ kind: 'spawnNotFound', part: 'program' })
    expect(await kindOf(['/etc/passwd'])).toMatchObject({ kind: 'spawnPermissionDenied' })
    expect(await kindOf([''])).toMatchObject({ kind: 'spawnFailed' })
    expect(await kindOf(['true'], { cwd: 'file:///nonexistent' })).toMatchObject({ kind: 'spawnNotFound', part: 'cwd' })
    expect(await kindOf(['true', ...Array.from({ length: 100 }, () => 'y'.repeat(100_000))])).toMatchObject({
      kind: 'spawnFailed',
      part: expect.stringMatching(/^argv/),
    })
    expect((await client.run(['true']).closed()).exitCode).toBe(0)
  })
})

describe.runIf(process.platform === 'linux')('the helper that starts processes', () => {
  it('takes what it has started with it when it is killed, which is told, and comes again', async () => {
    const { server, client, spawner } = await startWithSpawner()
    const process = await client.run(['bash', '-c', 'trap "" TERM HUP; echo go; sleep 986.1']).running()
    await process.said('go')
    globalThis.process.kill(spawner, 'SIGKILL')
    await process.closed()
    expect([process.exitCode, process.text()]).toEqual([137, 'go\n'])
    expect(process.events.slice(-2)).toEqual(['exited', 'closed'])
    await expect.poll(() => sleepers('986.1'), SOON).toEqual([])
    await expect.poll(() => parentOfNext(client), SOON).not.toBe(server.pid)
    expect(spawners(server)).not.toContain(spawner)
  })

  it('does not hear the signals that a terminal sends to the server', async () => {
    const { server, spawner } = await startWithSpawner()
    const groupOf = (pid: number) => execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    expect(groupOf(spawner)).toBe(String(spawner))
    expect(groupOf(server.pid)).not.toBe(String(spawner))
  })

  it('that is killed during a start fails it, and nothing of it runs', async () => {
    const { server, client, spawner } = await startWithSpawner()
    globalThis.process.kill(spawner, 'SIGSTOP')
    const process = client.run(['sleep', '986.2'])
    // Has its turn when the other request has been handed over.
    await client.call('process/terminate', { processId: 'nobody' })
    globalThis.process.kill(spawner, 'SIGKILL')
    expect((await process.started).error).toMatchObject({
      code: -32603,
      message: expect.stringContaining('start it again'),
      data: { kind: 'spawnFailed' },
    })
    expect(sleepers('986.2')).toEqual([])
    expect((await client.run(['true']).closed()).exitCode).toBe(0)
    await expect.poll(() => parentOfNext(client), SOON).not.toBe(server.pid)
  })

  it('ends everything when the server is killed, also where no watchdog is left', async () => {
    const { server, client, spawner } = await startWithSpawner()
    await client.run(['bash', '-c', 'trap "" TERM HUP; echo go; exec sleep 986.3']).said('go')
    const watchdogs = () => pgrep('-P', String(server.pid), '-f', 'gatehouse-watchdog')
    await expect.poll(watchdogs, SOON).toHaveLength(1)
    process.kill(server.pid, 'SIGSTOP')
    process.kill(watchdogs()[0] ?? 0, 'SIGKILL')
    process.kill(server.pid, 'SIGKILL')
    await server.exited
    await expect.poll(() => sleepers('986.3'), SOON).toEqual([])
    await expect.poll(() => pgrep('-x', 'gatehouse-spawn').includes(spawner), SOON).toBe(false)
  })

  it('is not needed: without perl the server starts everything itself', async () => {
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    symlinkSync(execFileSync('which', ['mkfifo'], { encoding: 'utf8' }).trim(), join(bin, 'mkfifo'))
    const { server, client } = await start({ PATH: bin })
    expect(await parentOfNext(client)).toBe(server.pid)
    expect(await parentOfNext(client)).toBe(server.pid)
    expect([...spawners(server), ...pgrep('-P', String(server.pid), '-x', 'perl')]).toEqual([])
  })
})
