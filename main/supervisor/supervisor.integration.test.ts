/** The three real sidecars from out/sidecars under a supervisor and plain Node. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SIDECAR_NAMES, type SidecarName } from '../../sidecars/protocol/host-channel.ts'
import { descendantsOf, readProcessIdentity, readProcessTable } from '../../sidecars/rpc/process-identity.ts'
import { NodeLauncher } from './node-launcher.ts'
import { Supervisor } from './supervisor.ts'

let dataDir: string
let supervisor: Supervisor

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gh-sup-int-'))
  supervisor = new Supervisor({
    launcher: new NodeLauncher(resolve('out/sidecars')),
    dataDir,
    runDir: dataDir,
    instanceId: 'host-1',
    configs: {
      'exec-server': () => ({ socketPath: join(dataDir, 'exec.sock'), internalToken: 'internal' }),
      'mcp-server': () => ({
        socketPath: join(dataDir, 'mcp.sock'),
        agentToken: 'agent',
        execServer: { socketPath: join(dataDir, 'exec.sock'), token: 'internal' },
      }),
      'network-proxy': () => ({ http: { host: '127.0.0.1', port: 0 } }),
    },
  })
})
afterEach(async () => {
  await supervisor.stop(2_000)
  rmSync(dataDir, { recursive: true })
})

async function becomesReady(name: SidecarName, generation: number): Promise<void> {
  const sidecar = supervisor.sidecar(name)
  while (sidecar.view().state !== 'ready' || sidecar.view().generation !== generation)
    await new Promise<void>((settle) => {
      const dispose = sidecar.onChanged(() => {
        dispose()
        settle()
      })
    })
}

test('all three become ready and tell where they can be reached', async () => {
  await supervisor.start()
  for (const view of supervisor.views())
    expect(view, view.stderrTail.join('\n')).toMatchObject({ state: 'ready', lastError: null })
  expect(Object.keys(supervisor.sidecar('exec-server').view().endpoints)).toContain('unix')
  expect(Object.keys(supervisor.sidecar('mcp-server').view().endpoints)).toContain('unix')
  expect(Object.keys(supervisor.sidecar('network-proxy').view().endpoints)).toContain('http')
})

test.each(SIDECAR_NAMES)('kill -9 of %s: it comes back and the others do not notice', async (name) => {
  await supervisor.start()
  process.kill(supervisor.sidecar(name).view().pid ?? 0, 'SIGKILL')
  await becomesReady(name, 2)
  expect(supervisor.sidecar(name).view()).toMatchObject({ restarts: 1, lastError: 'was ended by SIGKILL' })
  for (const other of SIDECAR_NAMES.filter((candidate) => candidate !== name))
    expect(supervisor.sidecar(other).view()).toMatchObject({ state: 'ready', generation: 1 })
})

test('stop leaves no process and no socket', async () => {
  await supervisor.start()
  const pids = supervisor.views().map((view) => view.pid ?? 0)
  const table = await readProcessTable()
  const below = pids.flatMap((pid) => descendantsOf(pid, table).map((entry) => entry.pid))
  await supervisor.stop()
  for (const pid of [...pids, ...below]) expect(await readProcessIdentity(pid)).toBeUndefined()
  for (const name of ['exec.sock', 'mcp.sock']) expect(existsSync(join(dataDir, name))).toBe(false)
})
