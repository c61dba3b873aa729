import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../testing/fast-check.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startExecServerAlone, type ExecServerAlone } from '../testing/exec-server-alone.ts'
import { ExecWireClient } from '../testing/exec-wire-client.ts'
import { SEED } from '../testing/seed.ts'

// GATEHOUSE_FUZZ_MESSAGES=100000 for a long run, GATEHOUSE_SEED to repeat one.
const MESSAGES = Number(process.env.GATEHOUSE_FUZZ_MESSAGES ?? 4_000)
const BATCH = 100

let server: ExecServerAlone
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-fuzz-'))
  writeFileSync(join(folder, 'file'), 'content')
  server = await startExecServerAlone()
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** One good request for each method. What they name lies in the test's folder, and nothing they start does harm. */
function goodRequests(): { method: string; params: Record<string, unknown> }[] {
  const path = `file://${folder}/file`
  const other = `file://${folder}/other`
  const sandbox = {
    permissions: {
      type: 'managed',
      file_system: { type: 'restricted', entries: [{ path: { type: 'path', path }, access: 'read' }] },
      network: 'restricted',
    },
    windowsSandboxLevel: 'disabled',
  }
  const start = {
    processId: 'p',
    argv: ['true'],
    cwd: `file://${folder}`,
    env: { PATH: '/usr/bin:/bin' },
    tty: false,
    pipeStdin: true,
    arg0: 'name',
    envPolicy: { inherit: 'core', ignoreDefaultExcludes: false, exclude: ['A*'], set: { B: '1' }, includeOnly: [] },
    metadata: { threadId: 't', toolCallId: 'c' },
  }
  const proxy = {
    enabled: true,
    enableSocks5: true,
    enableSocks5Udp: false,
    allowUpstreamProxy: false,
    dangerouslyAllowAllUnixSockets: false,
    mode: 'full',
    allowLocalBinding: false,
    domains: { 'a.test': 'allow' },
    reviewDomains: ['a.test'],
  }
  const walk = { maxDepth: 2, maxDirectories: 9, maxEntries: 9, followDirectorySymlinks: false }
  return Object.entries({
    initialize: { clientName: 'x', resumeSessionId: 'nobody' },
    'process/read': { processId: 'p', afterSeq: 0, maxBytes: 10, waitMs: 0 },
    'process/write': { processId: 'p', chunk: 'eA==', writeId: 'w' },
    'process/signal': { processId: 'p', signal: 'interrupt' },
    'process/terminate': { processId: 'p' },
    'process/resize': { processId: 'p', columns: 80, rows: 24 },
    'fs/readFile': { path, followSymlinks: true, sandbox },
    'fs/writeFile': { path: other, dataBase64: 'eA==', sandbox },
    'fs/createDirectory': { path: `file://${folder}/new`, recursive: true },
    'fs/getMetadata': { path, followSymlinks: false, sandbox },
    'fs/canonicalize': { path },
    'fs/readDirectory': { path: `file://${folder}` },
    'fs/walk': { path: `file://${folder}`, options: walk },
    'fs/remove': { path: other, recursive: false, force: true },
    'fs/copy': { sourcePath: path, destinationPath: other, recursive: false },
    'fs/open': { handleId: 'h', path, mode: 'read' },
    'fs/readBlock': { handleId: 'h', offset: 0, len: 10 },
    'fs/writeBlock': { handleId: 'h', offset: 0, chunk: 'eA==' },
    'fs/close': { handleId: 'h' },
    'fs/watchMissing': { watchId: 1, missing: [`file://${folder}/missing`], present: path },
    'environment/info': {},
    'environment/status': {},
    'environmentConfig/read': { cwd: path, configPaths: [['a']], requirementsPaths: [['b']] },
    'capabilities/discoverV2': { cwd: `file://${folder}`, sandbox },
    'http/request': {
      method: 'GET',
      url: 'http://127.0.0.1:9/',
      headers: [{ name: 'a', value: 'b', valueEnvVar: null }],
      bodyBase64: 'eA==',
      timeoutMs: 50,
      redirectPolicy: 'stop',
      requestId: 'r',
      streamResponse: true,
    },
  })
    .map(([method, params]) => ({ method, params: params as Record<string, unknown> }))
    .concat([
      { method: 'process/start', params: start },
      { method: 'process/start', params: { ...start, networkProxy: { proxy, policyDecisionTimeoutMs: 1 } } },
      { method: 'process/start', params: { ...start, sandbox, enforceManagedNetwork: true } },
    ])
}

/** Values that stand where others are expected. No path, program or address in them exists or can be made, also by root. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 53, 1e308, '', 'x', '\0', '\ud800', [], {}, [[]], { a: 1 }),
  fc.constantFrom<unknown>('file:///proc/nowhere/x', 'http://nowhere.invalid/', '/proc/nowhere', '='.repeat(99)),
  fc.constantFrom<unknown>(Array(2_000).fill(0), 'y'.repeat(70_000), JSON.parse(`${'['.repeat(90)}${']'.repeat(90)}`)),
  fc.string({ maxLength: 8 }).map((text) => `?${text}`),
)

/** Every place in a value, as a path of keys. */
function placesIn(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [at]
  const inner = Object.entries(value).flatMap(([key, member]) => placesIn(member, [...at, key]))
  return at.length === 0 ? inner : [at, ...inner]
}

function changed(value: unknown, [key, ...rest]: (string | number)[], put: unknown, isRemoved: boolean): unknown {
  if (key === undefined) return put
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>
  if (rest.length === 0 && isRemoved) delete copy[key]
  else copy[key] = changed(copy[key], rest, put, isRemoved)
  return copy
}

const pick = fc.record({ which: fc.nat(), place: fc.nat(), put: odd, isRemoved: fc.boolean(), times: fc.nat(2) })
type Pick = typeof pick extends fc.Arbitrary<infer T> ? T : never

/** A request with one to three members that are wrong, or a message that is none. */
function spoiled({ which, place, put, isRemoved, times }: Pick, id: number, good: ReturnType<typeof goodRequests>) {
  const request = good[which % good.length] as { method: string; params: unknown }
  let { params } = request
  for (let n = 0; n <= times; n++) {
    const places = placesIn(params)
    if (places.length > 0) params = changed(params, places[(place + n * 7) % places.length] as string[], put, isRemoved)
  }
  const text = JSON.stringify({ id, method: request.method, params })
  switch (place % 29) {
    case 0:
      return text.slice(0, 1 + (which % (text.length - 1)))
    case 1:
      return text.replace(/[{}[\],:"]/, '')
    case 2:
      return JSON.stringify({ id: put, method: request.method, params })
    case 3:
      return JSON.stringify({ id, method: put, params })
    case 4:
      return JSON.stringify([{ id, method: request.method, params }])
    case 5:
      // Drops the connection, as the wire wants it.
      return JSON.stringify({ method: request.method, params })
    case 6:
      return JSON.stringify({ id, result: put })
    default:
      return text
  }
}

const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length
const helpers = () => {
  const pids = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim().split(' ')
  const commands = pids.map((pid) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
  return ['gatehouse-watchdog', 'gatehouse-spawner'].filter((name) => commands.join().includes(name))
}
const rssMiB = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024

it(`${MESSAGES} spoiled messages kill nothing and leave nothing behind (seed ${SEED})`, async () => {
  const good = goodRequests()
  const picks = fc.sample(pick, { numRuns: MESSAGES, seed: SEED })
  let client = await ExecWireClient.open(server.url)
  // What is opened once and kept: the watchdog's pipe, the sandbox's filter, folders of pipes and bridges.
  for (const { method, params } of good) await client.ask(method, params)
  // The watchdog begins with the first process that lives long enough to be watched.
  const watched = await client.run(['sleep', '60']).running()
  await expect.poll(helpers, { timeout: 30_000 }).toHaveLength(2)
  await client.call('process/terminate', { processId: watched.id })
  await watched.closed()
  client.drop()
  client = await ExecWireClient.open(server.url)
  const descriptorsBefore = descriptors()
  let rssAfterWarmUp = 0
  for (let from = 0; from < picks.length; from += BATCH) {
    for (const [at, one] of picks.slice(from, from + BATCH).entries()) client.send(spoiled(one, 1_000_000 + at, good))
    // Whatever became of them, the server answers; on a new connection when this one was dropped.
    for (;;) {
      const { result, error } = await client.ask('environment/status')
      if (result) break
      expect(error).toEqual({ code: 0, message: 'the connection ended' })
      client = await ExecWireClient.open(server.url)
    }
    client.messages.length = 0
    if (from >= picks.length / 4 && rssAfterWarmUp === 0) rssAfterWarmUp = rssMiB()
  }
  client.drop()
  const last = await ExecWireClient.open(server.url)
  // Sessions that wait for their clients keep their processes; those have ended and hold no descriptor.
  await expect.poll(descriptors).toBeLessThanOrEqual(descriptorsBefore)
  expect(rssMiB() - rssAfterWarmUp).toBeLessThan(64)
  expect((await last.run(['true']).closed()).exitCode).toBe(0)
  last.drop()
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('content')
  expect(server.stderr()).not.toMatch(/TypeError|RangeError|ReferenceError/)
}, 1_800_000)
