/** A headless host from the built files: what it survives and what it leaves. */
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SIDECAR_NAMES } from '../../sidecars/protocol/host-channel.ts'
import { isSameProcess, type ProcessEntry } from '../../sidecars/rpc/process-identity.ts'
import { ControlClient } from '../control/control-client.ts'
import { CliHome, isAlive, until } from './cli-fixture.ts'

let home: CliHome
beforeEach(() => {
  home = new CliHome()
})
afterEach(() => home.dispose())

/** What still runs, for a failure that can be understood. */
const commandLineOf = async (entry: ProcessEntry) =>
  (await isSameProcess(entry)) ? readFileSync(`/proc/${entry.pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : 'gone'

describe('a headless host', () => {
  test('serve tells how to use it, status shows three ready sidecars, SIGTERM leaves nothing', async () => {
    const host = await home.serve()
    expect(statSync(join(home.lockDir, 'host.json')).mode & 0o777).toBe(0o600)
    expect(statSync(host.file.controlSocket).mode & 0o777).toBe(0o600)
    const { sidecars, kind, pid } = await home.status()
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
    const before = await home.sidecar(name)
    process.kill(before?.pid ?? 0, 'SIGKILL')
    await until(async () => {
      const now = await home.sidecar(name)
      return now?.state === 'ready' && now.generation >= 2
    })
    expect((await home.run(['run', '--', 'sh', '-c', 'exit 7'])).exitCode).toBe(7)
  })

  test('a crash loop ends as failed, is told by status, and the others work on', async () => {
    await home.serve()
    for (let crash = 1; crash <= 5; crash++) {
      await until(async () => (await home.sidecar('network-proxy'))?.generation === crash)
      await until(async () => (await home.sidecar('network-proxy'))?.state === 'ready')
      process.kill((await home.sidecar('network-proxy'))?.pid ?? 0, 'SIGKILL')
    }
    await until(async () => (await home.sidecar('network-proxy'))?.state === 'failed')
    const told = await home.run(['status'])
    expect(told.exitCode).toBe(1)
    expect(told.stdout.toString()).toContain('was ended by SIGKILL')
    expect(await home.sidecar('exec-server')).toMatchObject({ state: 'ready', generation: 1 })
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
    const { sidecars } = await home.status()
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
