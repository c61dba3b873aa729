import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { ApprovalView, FeedSnapshot } from '../preload/api.ts'
import type { Actor } from '../sidecars/protocol/decision.ts'
import { ExecClient, websocketConnector } from '../sidecars/exec-server/client/index.ts'
import { sandboxOf, WORKSPACE_WRITE } from '../sidecars/testing/confined-commands.ts'
import type { Host } from './host.ts'
import { builtHost } from './testing/built-host.ts'

const owner: Actor = { kind: 'person', via: 'window' }
const until = <T>(look: () => T) => vi.waitUntil(look, { timeout: 20_000, interval: 10 })

let dataDir: string
let workspace: string
let host: Host
let agent: ExecClient
/** The owner's own way out, which everything that is allowed is handed to. */
let outside: Server
let reached: string[]

beforeAll(async () => {
  reached = []
  outside = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => {
      const target = /^CONNECT (\S+) /.exec(head.toString('latin1'))?.[1] ?? 'nowhere'
      reached.push(target)
      socket.end(`HTTP/1.1 200 OK\r\n\r\nhello from ${target}\n`)
    })
  })
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
  const proxy = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) vi.stubEnv(name, proxy)
  for (const name of ['NO_PROXY', 'no_proxy', 'http_proxy', 'https_proxy', 'ALL_PROXY']) vi.stubEnv(name, '')
  dataDir = await mkdtemp(join(tmpdir(), 'gh-transparent-'))
  workspace = await mkdtemp(join(tmpdir(), 'gh-transparent-ws-'))
  await mkdir(join(dataDir, 'run'), { mode: 0o700 })
  await mkdir(join(dataDir, 'rules'))
  await writeFile(join(dataDir, 'settings.json'), '{"allowLocalBinding":true}')
  await writeFile(
    join(dataDir, 'rules', 'default.rules'),
    'prefix_rule(["python3"])\nnetwork_rule("open.test", decision="allow")\n',
  )
  await writeFile(join(dataDir, 'network.toml'), 'transparent_tcp = true\nallow_upstream_proxy = true\n')
  host = await builtHost(dataDir, { backoffFirstMs: 100 })
  await host.start()
  agent = new ExecClient({
    clientName: 'test agent',
    connect: websocketConnector({ url: tables().sidecars['exec-server']!.endpoints.ws!, token: host.agentToken }),
    recoveryMs: 2_000,
  })
})
afterAll(async () => {
  await agent?.close()
  await host?.stop(5_000)
  outside?.close()
  vi.unstubAllEnvs()
  for (const folder of [dataDir, workspace]) await rm(folder, { recursive: true, force: true })
})

const tables = (): FeedSnapshot['tables'] => host.feed.snapshot().tables
const pending = (): ApprovalView[] => Object.values(tables().approvals).filter(({ state }) => state === 'pending')
const decide = (card: ApprovalView, verdict: 'allow' | 'deny') =>
  host.invoke(
    'approvals.decide',
    [{ requestId: card.id, subjectHash: card.subjectHash, verdict, scope: 'once' }],
    owner,
  )

/** A program that knows nothing of a proxy, behind the walls of an agent. */
async function connecting(...hosts: string[]) {
  const script = `import socket, sys
for host in sys.argv[1:]:
    try: print(socket.create_connection((host, 443)).makefile().readline().strip(), flush=True)
    except OSError as e: print(e.strerror, flush=True)`
  const handle = await agent.start({
    argv: ['python3', '-c', script, ...hosts],
    cwd: workspace,
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
    sandbox: sandboxOf({ root: workspace, entries: WORKSPACE_WRITE, network: 'enabled' }),
  })
  const output = (async () => {
    let text = ''
    for await (const piece of handle.output) if (piece.kind === 'output') text += Buffer.from(piece.bytes).toString()
    return text
  })()
  return { handle, output }
}

it('with transparent_tcp in network.toml, a command behind walls goes through its lease, judged and asked about by name', async () => {
  const { output } = await connecting('open.test', 'asked.test', 'denied.test')
  await until(() => pending().length === 1)
  expect(pending()[0]?.subject).toMatchObject({
    kind: 'connection',
    host: 'asked.test',
    port: 443,
    protocol: 'socks5Tcp',
  })
  await decide(pending()[0]!, 'allow')
  await until(() => pending().some(({ subject }) => subject.kind === 'connection' && subject.host === 'denied.test'))
  await decide(pending()[0]!, 'deny')
  expect(await output).toBe('hello from open.test:443\nhello from asked.test:443\nPermission denied\n')
  expect(reached).toEqual(['open.test:443', 'asked.test:443'])
  const rows = await until(() => {
    const found = Object.values(tables().connections)
    return found.length === 3 && found
  })
  for (const row of rows)
    expect(row).toMatchObject({ protocol: 'socks5Tcp', command: expect.stringContaining('python3') })
  expect(rows.map(({ host: name, state }) => [name, state === 'blocked']).toSorted()).toEqual([
    ['asked.test', false],
    ['denied.test', true],
    ['open.test', false],
  ])
})

it('a change of the file holds for the next command', async () => {
  await writeFile(join(dataDir, 'network.toml'), 'allow_upstream_proxy = true\n')
  await vi.waitUntil(async () => (await (await connecting('open.test')).output) !== 'hello from open.test:443\n', {
    timeout: 20_000,
    interval: 100,
  })
  expect(await (await connecting('203.0.113.7')).output).toBe('Network is unreachable\n')
})
