import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { integer, object, unknown } from '../protocol/decode.ts'
import { initializeResult } from '../protocol/host-channel.ts'
import { LinesTransport } from '../rpc/lines-transport.ts'
import { RpcPeer } from '../rpc/peer.ts'
import { readProcessIdentity, signalProcess } from '../rpc/process-identity.ts'
import { bundleEntry } from './bundle-entry.ts'

let entry: string
beforeAll(async () => {
  entry = await bundleEntry('sidecars/testing/awkward-sidecar.ts')
}, 60_000)
afterAll(() => rmSync(dirname(entry), { recursive: true }))

const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

function startUnderHost() {
  const child = spawn(process.execPath, [entry, '--host-channel'], { stdio: 'pipe' })
  started.push(child)
  const stderr: string[] = []
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk.toString()))
  const host = new RpcPeer(new LinesTransport('sidecar', child.stdout, child.stdin))
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  return { child, host, ended, stderr: () => stderr.join('') }
}
const params = { protocolVersion: 1, instanceId: 'i', generation: 1, dataDir: '/d', runDir: '/r', config: {} }

describe('a sidecar under a host on stdio', () => {
  test('E07 greets once, answers ping, and keeps stdout for the protocol', async () => {
    const { host, stderr, child } = startUnderHost()
    host.start()
    expect(await host.request('sidecar/initialize', params, initializeResult)).toEqual({
      protocolVersion: 1,
      name: 'exec-server',
      version: '0.1.0',
      pid: child.pid,
      endpoints: { unix: '/r/awkward.sock' },
      warnings: [],
    })
    await expect(host.request('sidecar/initialize', params, unknown)).rejects.toThrow('was already sent')
    expect(await host.request('sidecar/ping', {}, unknown)).toEqual({})
    expect(stderr()).toContain('generation 1 is up')
  })

  test('another protocol version is a named error with the next step, before other params are looked at', async () => {
    const { host } = startUnderHost()
    host.start()
    const error = await host.request('sidecar/initialize', { protocolVersion: 2 }, unknown).catch((e: unknown) => e)
    expect(error).toMatchObject({
      code: 'invalidRequest',
      message: expect.stringContaining('Rebuild or reinstall'),
      data: { name: 'version-mismatch', sidecar: 1, host: 2 },
    })
  })

  test('requests sent together with the greeting wait until it is ready', async () => {
    const { host } = startUnderHost()
    host.start()
    const greeting = host.request('sidecar/initialize', params, unknown)
    expect(await host.request('awkward/echo', 'early', unknown)).toBe('early')
    await greeting
  })

  test('a new configuration is applied, one with bad params names the field', async () => {
    const { host } = startUnderHost()
    const applied = new Promise((resolve) => host.onNotification('awkward/configured', unknown, resolve))
    host.start()
    await expect(host.request('sidecar/configure', { config: {} }, unknown)).rejects.toThrow(
      'before sidecar/initialize',
    )
    await host.request('sidecar/initialize', params, unknown)
    await host.request('sidecar/configure', { config: { spoolBytes: 1 } }, unknown)
    expect(await applied).toEqual({ spoolBytes: 1 })
    await expect(host.request('sidecar/shutdown', { deadlineMs: 'soon' }, unknown)).rejects.toThrow('params.deadlineMs')
  })

  test('shutdown is answered before the process ends with code 0', async () => {
    const { host, ended } = startUnderHost()
    host.start()
    await host.request('sidecar/initialize', params, unknown)
    expect(await host.request('sidecar/shutdown', { deadlineMs: 500 }, unknown)).toEqual({})
    host.close()
    expect(await ended).toEqual([0, null])
  })

  test.each([
    ['its channel closes', 0, (child: ChildProcess) => child.stdin?.end()],
    ['it gets SIGTERM', 143, (child: ChildProcess) => child.kill('SIGTERM')],
  ])('it ends when %s', async (_name, code, act) => {
    const { child, host, ended } = startUnderHost()
    host.start()
    await host.request('sidecar/initialize', params, unknown)
    act(child)
    expect(await ended).toEqual([code, null])
  })

  test('it outlives Ctrl-C and a closed terminal: those are for the host to act on', async () => {
    const { child, host } = startUnderHost()
    host.start()
    await host.request('sidecar/initialize', params, unknown)
    child.kill('SIGINT')
    child.kill('SIGHUP')
    expect(await host.request('sidecar/ping', {}, unknown)).toEqual({})
  })

  test('it shuts down in order and ends when its host is killed with SIGKILL', async () => {
    const file = join(dirname(entry), 'farewell')
    const greeting = { id: 1, method: 'sidecar/initialize', params: { ...params, config: { file } } }
    const script = `
      const child = require('child_process').spawn(process.execPath, [${JSON.stringify(entry)}, '--host-channel'], { stdio: 'pipe', detached: true })
      child.stdin.write(${JSON.stringify(`${JSON.stringify(greeting)}\n`)})
      child.stdout.once('data', () => console.log(child.pid))
      setInterval(() => {}, 1000)`
    const host = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] })
    started.push(host)
    const [line] = (await once(host.stdout, 'data')) as [Buffer]
    const sidecar = await readProcessIdentity(Number(line.toString()))
    expect(sidecar).toBeDefined()
    host.kill('SIGKILL')
    while (await readProcessIdentity(sidecar!.pid)) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(readFileSync(file, 'utf8')).toBe('shut down in order')
  })

  test('a start that fails is answered with its words and ends the process with code 1', async () => {
    const { host, ended, stderr } = startUnderHost()
    host.start()
    await expect(
      host.request('sidecar/initialize', { ...params, config: { behaviour: 'refuse' } }, unknown),
    ).rejects.toThrow('port 4512 is in use')
    expect(await ended).toEqual([1, null])
    expect(stderr()).toContain('start failed')
  })

  test('an unhandled rejection is logged and ends it with code 1', async () => {
    const { host, ended, stderr } = startUnderHost()
    host.start()
    await host.request('sidecar/initialize', params, unknown)
    void host.request('awkward/throw', {}, unknown).catch(() => {})
    expect(await ended).toEqual([1, null])
    expect(stderr()).toContain('unhandled failure: Error: nobody caught this')
  })

  test('malformed lines are answered and survived', async () => {
    const { child, host, stderr } = startUnderHost()
    host.start()
    child.stdin?.write('{"id":1,\n\u0000\n[]\n')
    await host.request('sidecar/initialize', params, unknown)
    const { pid } = await host.request('awkward/spawn', {}, object({ pid: integer(1) }))
    const identity = await readProcessIdentity(pid)
    if (identity) await signalProcess(identity, 'SIGKILL')
    expect(stderr().match(/host channel: malformed/g)).toHaveLength(3)
  })
})

test('alone it is a command: arguments in, text out, exit code back', () => {
  const { status, stdout } = spawnSync(process.execPath, [entry, '--listen', 'stdio'], { encoding: 'utf8' })
  expect([status, stdout]).toEqual([2, '--listen stdio\n'])
})
