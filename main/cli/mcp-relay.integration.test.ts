import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readProcessIdentity } from '../../sidecars/rpc/process-identity.ts'
import { bundleEntry } from '../../sidecars/testing/bundle-entry.ts'
import { DecidingHost } from '../../sidecars/testing/deciding-host.ts'
import { launchSidecar, type LaunchedSidecar } from '../../sidecars/testing/launched-sidecar.ts'
import { ERAS, eraOptions, factsOf, textOf, type Era } from '../../sidecars/testing/mcp-line-client.ts'
import { writeHostFile } from '../control/host-file.ts'

const HERE = dirname(fileURLToPath(import.meta.url))
const AGENT_TOKEN = 'agents-token'
/** What of the environment a strict agent passes on (Codex's list), and where the data folder is. */
const bareEnvironment = () => ({ HOME: home, PATH: process.env.PATH ?? '', GATEHOUSE_HOME: home })

let relayProgram: string
/** Says that it is the host, for a few seconds. */
let standInProgram: string
let home: string
let lockDir: string
let host: DecidingHost
let mcpServer: LaunchedSidecar
beforeAll(async () => {
  relayProgram = await bundleText(
    `import { runMcpRelay } from ${JSON.stringify(join(HERE, 'mcp-relay.ts'))}
     runMcpRelay(process.env, [process.execPath, ...process.argv.slice(2)]).then((code) => { process.exitCode = code })`,
  )
  standInProgram = await bundleText(
    `import { readProcessIdentity } from ${JSON.stringify(join(HERE, '../../sidecars/rpc/process-identity.ts'))}
     import { writeHostFile } from ${JSON.stringify(join(HERE, '../control/host-file.ts'))}
     const [lockDir, facts] = process.argv.slice(2)
     readProcessIdentity(process.pid).then((identity) => writeHostFile(lockDir, { ...identity, ...JSON.parse(facts) }))
     setTimeout(() => {}, 3000)`,
  )
})
afterAll(() => {
  for (const program of [relayProgram, standInProgram]) rmSync(dirname(program), { recursive: true })
})

async function bundleText(source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gh-entry-'))
  writeFileSync(join(folder, 'entry.ts'), source)
  const program = await bundleEntry(join(folder, 'entry.ts'))
  rmSync(folder, { recursive: true })
  return program
}

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'gh-relay-'))
  lockDir = join(home, 'run')
  mkdirSync(lockDir, { mode: 0o700 })
  host = new DecidingHost()
  mcpServer = await launchSidecar(
    'mcp-server',
    {
      dataDir: home,
      runDir: lockDir,
      config: { socketPath: join(lockDir, 'mcp.sock'), agentToken: AGENT_TOKEN, execServer: null },
    },
    host.register,
  )
})
afterEach(async () => {
  await mcpServer.shutdown()
  rmSync(home, { recursive: true })
})

const hostFacts = () => ({
  instanceId: 'test',
  version: '0.0.0',
  kind: 'headless' as const,
  controlSocket: '',
  controlToken: '',
  mcpSocket: join(lockDir, 'mcp.sock'),
  agentToken: AGENT_TOKEN,
  appServer: null,
  appServerWs: null,
  appServerToken: null,
  execSocket: null,
  execWs: null,
  mcpHttp: null,
  proxyHttp: null,
})

/** This process is the host. */
async function announceHost(): Promise<void> {
  const identity = await readProcessIdentity(process.pid)
  if (!identity) throw new Error('no identity')
  await writeHostFile(lockDir, { ...identity, ...hostFacts() })
}

async function attach(era: Era, ...hostCommand: string[]): Promise<{ client: Client; stderr: () => string }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [relayProgram, ...hostCommand],
    env: bareEnvironment(),
    cwd: tmpdir(),
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', (chunk) => (stderr += String(chunk)))
  const client = new Client({ name: 'agent', version: '1' }, eraOptions(era))
  await client.connect(transport)
  return { client, stderr: () => stderr }
}

describe.each(ERAS)('in the %s era', (era) => {
  test('an agent that starts `gatehouse mcp` is a session of the running host', async () => {
    await announceHost()
    const { client } = await attach(era)
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
    expect(host.sessions).toEqual([
      expect.objectContaining({ agentName: 'agent', via: 'mcp-stdio', cwd: tmpdir(), pid: process.pid }),
    ])
    await client.close()
    await expect.poll(() => host.closed).toEqual([host.sessions[0]?.id])
  })

  test('without a host one is started, and the agent works with it', async () => {
    const { client } = await attach(era, standInProgram, lockDir, JSON.stringify(hostFacts()))
    expect((await client.listTools()).tools.length).toBeGreaterThan(5)
    await client.close()
  })

  test('when none can be started, the agent reads why instead of seeing a crash', async () => {
    const { client, stderr } = await attach(
      era,
      '-e',
      'console.error("~/.gatehouse belongs to another user"); process.exit(1)',
    )
    const answer = textOf(await client.callTool({ name: 'status', arguments: {} }))
    expect(answer).toContain('Gatehouse could not be started: ~/.gatehouse belongs to another user')
    await expect.poll(stderr).toContain('belongs to another user')
    await announceHost()
    await expect
      .poll(async () => factsOf(await client.callTool({ name: 'status', arguments: {} })).host, { timeout: 10_000 })
      .toBe('connected')
    await client.close()
  })
})

test('an SDK client that probes for the newest revision gets it', async () => {
  await announceHost()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [relayProgram],
    env: bareEnvironment(),
    cwd: tmpdir(),
  })
  const client = new Client({ name: 'probing', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  await client.callTool({ name: 'status', arguments: {} })
  // The probe runs in a process of its own that opens no session.
  expect(host.sessions.map(({ agentName }) => agentName)).toEqual(['probing'])
  await client.close()
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'end of input'] as const)('M01 the relay ends at once on %s', async (how) => {
  await announceHost()
  const relay = spawn(process.execPath, [relayProgram], { env: bareEnvironment(), stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = new Promise<number | null>((resolve) => relay.once('exit', resolve))
  relay.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } })}\n`,
  )
  await new Promise((resolve) => relay.stdout.once('data', resolve))
  if (how === 'end of input') relay.stdin.end()
  else relay.kill(how)
  expect(await exited).toBe(0)
  await expect.poll(() => host.closed.length).toBe(1)
})
