import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { SidecarView } from '../../preload/api.ts'
import { Feed } from '../feed/feed.ts'
import { readLiveHostFile } from './host-file.ts'
import { HostRunningError } from './host-lock.ts'
import { openHost, type OpenableHost, type OpenHost } from './open-host.ts'

let dataDir: string
let lockDir: string
let opened: OpenHost<OpenableHost> | undefined
const calls: string[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gh-open-'))
  lockDir = join(dataDir, 'run')
  calls.length = 0
})
afterEach(async () => {
  await opened?.stop(100)
  opened = undefined
  rmSync(dataDir, { recursive: true })
})

const sidecar = (name: SidecarView['name'], endpoints: Record<string, string>): SidecarView => ({
  name,
  state: 'ready',
  generation: 1,
  pid: 1,
  startedAtMs: 1,
  endpoints,
  restarts: 0,
  retryAtMs: null,
  lastError: null,
  stderrTail: [],
  warnings: [],
})

/** A host that does nothing but keep a record, over the real feed. */
function recordingHost(fails?: 'create' | 'start') {
  const feed = new Feed({
    host: {
      version: '0.1.0',
      instanceId: 'host_1',
      dataDir,
      platform: 'linux',
      startedAtMs: 1,
      commandLine: 'gatehouse',
    },
    settings: {} as never,
  })
  const host: OpenableHost = {
    instanceId: 'host_1',
    agentToken: 'agent',
    appServerToken: 'owner',
    feed,
    invoke: async () => null as never,
    startRun: () => Promise.reject(new Error('not in this test')),
    shellEnvironment: async () => ({}),
    start: async () => {
      calls.push('start')
      if (fails === 'start') throw new Error('cannot start')
      feed.set('sidecars', 'mcp-server', sidecar('mcp-server', { unix: '/x/mcp.sock' }))
    },
    stop: async () => void calls.push('stop'),
    notify: (_id, message) => void calls.push(message),
  }
  const create = async () => {
    if (fails === 'create') throw new Error('cannot be made')
    return host
  }
  return { feed, create }
}
const open = (create: () => Promise<OpenableHost>, waitForOtherMs = 0) =>
  openHost({ kind: 'headless', dataDir, create, requestStop: () => {}, log: () => {}, waitForOtherMs })

test('once open it can be found, with where its sidecars are, and it can be opened again after stop', async () => {
  opened = await open(recordingHost().create)
  expect(await readLiveHostFile(lockDir)).toMatchObject({
    pid: process.pid,
    instanceId: 'host_1',
    kind: 'headless',
    agentToken: 'agent',
    appServerToken: 'owner',
    controlSocket: join(lockDir, 'control.sock'),
    mcpSocket: '/x/mcp.sock',
    proxyHttp: null,
  })
  await opened.stop(100)
  await opened.stop(100)
  expect(calls).toEqual(['start', 'stop'])
  expect(readdirSync(lockDir)).toEqual([])
  opened = await open(recordingHost().create)
})

test('host.json follows a sidecar that comes back somewhere else', async () => {
  const { feed, create } = recordingHost()
  opened = await open(create)
  feed.set('sidecars', 'network-proxy', sidecar('network-proxy', { http: 'http://127.0.0.1:7' }))
  while ((await readLiveHostFile(lockDir))?.proxyHttp !== 'http://127.0.0.1:7')
    await new Promise((resolve) => setTimeout(resolve, 5))
})

test.each(['create', 'start'] as const)('when %s fails nothing is left behind', async (step) => {
  await expect(open(recordingHost(step).create)).rejects.toThrow('cannot')
  expect(calls).toEqual(step === 'start' ? ['start', 'stop'] : [])
  expect(readdirSync(lockDir)).toEqual([])
})

test('a run folder that was removed is made anew: no second host can start, and the owner is told', async () => {
  const { create } = recordingHost()
  const options = { kind: 'headless', dataDir, create, requestStop: () => {}, log: () => {}, lookAfterMs: 5 } as const
  opened = await openHost(options)
  rmSync(lockDir, { recursive: true })
  await vi.waitUntil(async () => (await readLiveHostFile(lockDir))?.instanceId === 'host_1', { timeout: 20_000 })
  expect([...new Set(calls)]).toEqual([
    'start',
    expect.stringMatching(/run were removed while Gatehouse ran\. Restart Gatehouse: /),
  ])
  await expect(open(create)).rejects.toBeInstanceOf(HostRunningError)
})

test('sockets that a cleaner of old files took away are told of', async () => {
  const { create } = recordingHost()
  const options = { kind: 'headless', dataDir, create, requestStop: () => {}, log: () => {}, lookAfterMs: 5 } as const
  opened = await openHost(options)
  rmSync(join(lockDir, 'control.sock'))
  await vi.waitUntil(() => calls.length > 1, { timeout: 20_000 })
  expect(calls[1]).toContain('Restart Gatehouse: agents and the command line cannot reach it any more.')
})

test('a host that can be reached is not waited for', async () => {
  opened = await open(recordingHost().create)
  await expect(open(recordingHost().create, 60_000)).rejects.toBeInstanceOf(HostRunningError)
})

test('a host on its way out is waited for', async () => {
  const first = await open(recordingHost().create)
  rmSync(join(lockDir, 'host.json'))
  const second = open(recordingHost().create, 60_000)
  await first.stop(100)
  opened = await second
  expect(existsSync(join(lockDir, 'host.lock'))).toBe(true)
})
