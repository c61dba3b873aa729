import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { integer, object, string, unknown } from '../../sidecars/protocol/decode.ts'
import type { SidecarName } from '../../sidecars/protocol/host-channel.ts'
import { readProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { bundleEntry } from '../../sidecars/testing/bundle-entry.ts'
import type { SidecarView } from '../../preload/api.ts'
import type { Launcher } from './launcher.ts'
import { launchNodeSidecar } from './node-launcher.ts'
import type { SupervisedSidecar } from './supervised-sidecar.ts'
import { Supervisor } from './supervisor.ts'
import type { SupervisorTiming } from './timing.ts'

let entry: string
let runDir: string
let supervisor: Supervisor | undefined
const logged: string[] = []

beforeAll(async () => {
  entry = await bundleEntry('sidecars/testing/awkward-sidecar.ts')
}, 60_000)
afterAll(() => rmSync(dirname(entry), { recursive: true }))
beforeEach(() => {
  runDir = mkdtempSync(join(tmpdir(), 'gh-sup-'))
  logged.length = 0
})
afterEach(async () => {
  await supervisor?.stop(500)
  supervisor = undefined
  rmSync(runDir, { recursive: true })
})

const QUICK: Partial<SupervisorTiming> = {
  backoffFirstMs: 10,
  backoffMaxMs: 80,
  killGraceMs: 150,
  descendantGraceMs: 100,
}
const launcher: Launcher = {
  launch: (name, options) =>
    launchNodeSidecar(name, entry, { ...options, env: { ...options.env, AWKWARD_NAME: name } }),
}

/** A supervisor whose exec server behaves as told; the other two behave well. */
function make(behaviour: () => string | undefined, timing: Partial<SupervisorTiming> = {}, from = launcher) {
  const good = () => ({})
  supervisor = new Supervisor({
    launcher: from,
    dataDir: runDir,
    runDir,
    instanceId: 'host-1',
    configs: { 'exec-server': () => ({ behaviour: behaviour() }), 'mcp-server': good, 'network-proxy': good },
    log: (message) => logged.push(message),
    timing: { ...QUICK, ...timing },
  })
  return { supervisor, sidecar: supervisor.sidecar('exec-server') }
}

function reached(sidecar: SupervisedSidecar, isReached: (view: SidecarView) => boolean): Promise<SidecarView> {
  return new Promise((resolve) => {
    const look = (view: SidecarView) => {
      if (!isReached(view)) return
      dispose()
      resolve(view)
    }
    const dispose = sidecar.onChanged(look)
    look(sidecar.view())
  })
}
const isAlive = async (pid: number) => (await readProcessIdentity(pid)) !== undefined
async function gone(pid: number): Promise<void> {
  while (await isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('a supervisor of real processes', () => {
  test('starts all three, shows them ready with their endpoints, and leaves nothing after stop', async () => {
    const { supervisor } = make(() => undefined)
    await supervisor.start()
    const views = supervisor.views()
    expect(views).toMatchObject(
      (['exec-server', 'mcp-server', 'network-proxy'] satisfies SidecarName[]).map((name) => ({
        name,
        state: 'ready',
        generation: 1,
        restarts: 0,
        endpoints: { unix: `${runDir}/awkward.sock` },
        lastError: null,
        retryAtMs: null,
      })),
    )
    await supervisor.stop()
    for (const { pid } of views) expect(await isAlive(pid ?? 0)).toBe(false)
    for (const view of supervisor.views()) expect(view).toMatchObject({ state: 'stopped', pid: null })
  })

  test('a killed sidecar comes back as the next generation; what was in flight fails by name', async () => {
    const { supervisor, sidecar } = make(() => undefined)
    sidecar.onRequest('host/name', unknown, () => 'Gatehouse')
    const ready: number[] = []
    sidecar.onReady((_result, generation) => ready.push(generation))
    await supervisor.start()
    expect(await sidecar.request('awkward/askHost', {}, string)).toBe('Gatehouse')

    const inFlight = sidecar.request('awkward/never', {}, unknown)
    process.kill(sidecar.view().pid ?? 0, 'SIGKILL')
    await expect(inFlight).rejects.toMatchObject({ code: 'disconnected' })
    await reached(sidecar, (view) => view.state === 'backoff' || view.generation === 2)
    await reached(sidecar, (view) => view.state === 'ready' && view.generation === 2)
    // The same object works on, and the host's handlers apply to the new generation.
    expect(await sidecar.request('awkward/askHost', {}, string)).toBe('Gatehouse')
    expect(ready).toEqual([1, 2])
    expect(sidecar.view()).toMatchObject({ restarts: 1, lastError: 'was ended by SIGKILL' })
    expect(sidecar.diagnostics()).toContain('generation 1 was ended by SIGKILL')
  })

  test('an exit with code 0 that nobody asked for is a failure too, and stderr is kept', async () => {
    const { supervisor, sidecar } = make(() => undefined)
    await supervisor.start()
    await sidecar.request('awkward/throw', {}, unknown).catch(() => {})
    const view = await reached(sidecar, ({ generation, state }) => generation === 2 && state === 'ready')
    expect(view.lastError).toBe('exited with code 1')
    expect(view.stderrTail.join('\n')).toContain('unhandled failure: Error: nobody caught this')
  })

  test('requests while it is down fail at once with unavailable', async () => {
    const { supervisor, sidecar } = make(() => undefined, { backoffFirstMs: 60_000, backoffMaxMs: 60_000 })
    await expect(sidecar.request('awkward/echo', 1, unknown)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the exec-server is not running: it was stopped',
    })
    await supervisor.start()
    await sidecar.request('awkward/crash', {}, unknown).catch(() => {})
    const view = await reached(sidecar, ({ state }) => state === 'backoff')
    expect(view).toMatchObject({ lastError: 'exited with code 3', pid: null, endpoints: {} })
    expect(view.retryAtMs).toBeGreaterThan(Date.now())
    await expect(sidecar.request('awkward/echo', 1, unknown)).rejects.toMatchObject({ code: 'unavailable' })
    // Nobody has to wait for the back-off.
    await sidecar.restart()
    await reached(sidecar, ({ state }) => state === 'ready')
  })

  test('a crash loop ends as failed with the last stderr lines; Retry starts it again', async () => {
    let behaviour: string | undefined = 'crash-on-start'
    const { supervisor, sidecar } = make(() => behaviour)
    await supervisor.start()
    const view = await reached(sidecar, ({ state }) => state === 'failed')
    expect(view).toMatchObject({ generation: 5, lastError: 'exited with code 9', retryAtMs: null })
    expect(view.stderrTail).toContain('about to crash')
    // The others never noticed.
    expect(supervisor.sidecar('mcp-server').view()).toMatchObject({ state: 'ready', generation: 1 })
    behaviour = undefined
    await sidecar.restart()
    expect(await reached(sidecar, ({ state }) => state === 'ready')).toMatchObject({ generation: 6 })
  })

  test('a refused start shows the words of the sidecar', async () => {
    const { supervisor, sidecar } = make(() => 'refuse', { backoffFirstMs: 60_000, backoffMaxMs: 60_000 })
    await supervisor.start()
    expect(sidecar.view()).toMatchObject({
      state: 'backoff',
      lastError: 'did not start: port 4512 is in use; choose another in the settings',
    })
  })

  test('a sidecar that does not greet in time is killed', async () => {
    const { supervisor, sidecar } = make(() => 'hang-on-start', {
      handshakeMs: 400,
      backoffFirstMs: 60_000,
      backoffMaxMs: 60_000,
    })
    await supervisor.start()
    expect(sidecar.view()).toMatchObject({
      state: 'backoff',
      lastError: 'did not start: sidecar/initialize got no answer within 400 ms',
    })
  })

  test('a sidecar that hangs is killed and started again', async () => {
    const { supervisor, sidecar } = make(() => undefined, { pingIntervalMs: 50, pingTimeoutMs: 400 })
    await supervisor.start()
    const { pid } = sidecar.view()
    void sidecar.request('awkward/hang', {}, unknown).catch(() => {})
    const view = await reached(sidecar, ({ generation, state }) => generation === 2 && state === 'ready')
    expect(view.lastError).toBe('did not answer for 0 s')
    expect(await isAlive(pid ?? 0)).toBe(false)
  })

  test('a launcher that cannot launch is retried and shown', async () => {
    let failures = 0
    const seen: (string | null)[] = []
    const { supervisor, sidecar } = make(
      () => undefined,
      {},
      {
        launch: (name, options) => {
          if (name !== 'exec-server') return launcher.launch(name, options)
          if (failures > 0) seen.push(sidecar.view().lastError)
          // Fewer failures than end in 'failed', however long the other sidecars take to start.
          if (++failures > 2) return launcher.launch(name, options)
          return Promise.reject(new Error('out/sidecars/exec-server.cjs is missing; run: npm run build'))
        },
      },
    )
    await supervisor.start()
    await reached(sidecar, ({ state }) => state === 'ready')
    expect(seen).toEqual(
      Array(2).fill('cannot be started: out/sidecars/exec-server.cjs is missing; run: npm run build'),
    )
  })

  test('stop ends a sidecar that hangs in its shutdown, and a stubborn process in a session of its own', async () => {
    const { supervisor, sidecar } = make(() => 'hang-on-stop')
    await supervisor.start()
    const { pid: stubborn } = await sidecar.request('awkward/spawn', {}, object({ pid: integer(1) }))
    const { pid } = sidecar.view()
    await supervisor.stop(900)
    expect(await isAlive(pid ?? 0)).toBe(false)
    await gone(stubborn)
  })

  test('what lives below a crashed sidecar ends with it', async () => {
    const { supervisor, sidecar } = make(() => undefined, { pingIntervalMs: 30 })
    await supervisor.start()
    const { pid: stubborn } = await sidecar.request('awkward/spawn', {}, object({ pid: integer(1) }))
    const ledger = () => readFileSync(join(runDir, 'ledger.jsonl'), 'utf8')
    while (!ledger().includes(`"pid":${stubborn},`)) await new Promise((resolve) => setTimeout(resolve, 5))
    process.kill(sidecar.view().pid ?? 0, 'SIGKILL')
    await gone(stubborn)
  })

  test('E21 what a killed host left behind is ended at the next start', async () => {
    const first = make(() => undefined, { pingIntervalMs: 30 })
    await first.supervisor.start()
    const { pid: stubborn } = await first.sidecar.request('awkward/spawn', {}, object({ pid: integer(1) }))
    const path = join(runDir, 'ledger.jsonl')
    while (!readFileSync(path, 'utf8').includes(`"pid":${stubborn},`))
      await new Promise((resolve) => setTimeout(resolve, 5))
    const asLeft = readFileSync(path, 'utf8')
    await first.supervisor.stop()
    await gone(stubborn)

    // The ledger as a SIGKILL would have left it, with one survivor.
    const survivor = await launchNodeSidecar('exec-server', entry, { generation: 1, env: {} })
    const identity = await readProcessIdentity(survivor.pid)
    writeFileSync(
      path,
      `${asLeft}${JSON.stringify({ kind: 'started', name: 'exec-server', role: 'leader', ...identity })}\n{"kind":"star`,
    )
    const report = await make(() => undefined).supervisor.start()
    expect(report.ended).toEqual([{ kind: 'started', name: 'exec-server', role: 'leader', ...identity }])
    expect(report.problems).toEqual([])
    await survivor.exited
  })

  test('a corrupt ledger is kept aside and named line by line, its good lines still count', async () => {
    const path = join(runDir, 'ledger.jsonl')
    const survivor = await launchNodeSidecar('exec-server', entry, { generation: 1, env: {} })
    const identity = await readProcessIdentity(survivor.pid)
    const good = JSON.stringify({ kind: 'started', name: 'exec-server', role: 'leader', ...identity })
    writeFileSync(path, `not json\n${good}\n{"kind":"started","name":"x","role":"leader","pid":"one","startedAt":""}\n`)
    const report = await make(() => undefined).supervisor.start()
    expect(report.problems).toEqual([
      expect.stringContaining(`${path}:1: `),
      `${path}:3: pid: expected a whole number, got a string`,
    ])
    expect(report.ended).toHaveLength(1)
    await survivor.exited
    const aside = readdirSync(runDir).filter((name) => name.startsWith('ledger.jsonl.corrupt-'))
    expect(aside).toHaveLength(1)
    expect(readFileSync(join(runDir, aside[0] ?? ''), 'utf8')).toContain('not json')
    expect(existsSync(path)).toBe(true)
  })

  test('E21 an unrelated process that got a recorded pid is left alone', async () => {
    const path = join(runDir, 'ledger.jsonl')
    const mine = { kind: 'started', name: 'exec-server', role: 'leader', pid: process.pid, startedAt: 'another life' }
    writeFileSync(path, `${JSON.stringify(mine)}\n`)
    const report = await make(() => undefined).supervisor.start()
    expect(report.ended).toEqual([])
  })

  test('a ledger that cannot be written is reported once and supervision goes on', async () => {
    const { supervisor } = make(() => undefined)
    rmSync(runDir, { recursive: true })
    await supervisor.start()
    expect(supervisor.views().map((view) => view.state)).toEqual(['ready', 'ready', 'ready'])
    expect(logged.filter((line) => line.includes('ledger.jsonl cannot be written'))).toHaveLength(1)
    await supervisor.stop()
    mkdirSync(runDir)
  })
})
