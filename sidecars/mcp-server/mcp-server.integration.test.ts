import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DecidingHost } from '../testing/deciding-host.ts'
import { isAlive } from '../testing/is-alive.ts'
import { launchSidecar, type LaunchedSidecar } from '../testing/launched-sidecar.ts'
import { connectLines, ERAS, eraOptions, factsOf, TEST_CLIENT, textOf, type Era } from '../testing/mcp-line-client.ts'
import { formatAttach } from './client/attach-line.ts'

const AGENT_TOKEN = 'agents-token'
const INTERNAL_TOKEN = 'internal-token'

let folder: string
let host: DecidingHost
let execServer: LaunchedSidecar
let mcpServer: LaunchedSidecar
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gh-mcp-'))
  host = new DecidingHost()
  execServer = await startExecServer()
  mcpServer = await launchSidecar(
    'mcp-server',
    {
      dataDir: folder,
      runDir: folder,
      config: {
        socketPath: join(folder, 'mcp.sock'),
        agentToken: AGENT_TOKEN,
        http: { port: 0 },
        execServer: { socketPath: join(folder, 'exec.sock'), token: INTERNAL_TOKEN },
      },
    },
    host.register,
  )
})
afterEach(async () => {
  await mcpServer.shutdown()
  await execServer.shutdown()
  rmSync(folder, { recursive: true, force: true })
})

function startExecServer(): Promise<LaunchedSidecar> {
  return launchSidecar(
    'exec-server',
    {
      dataDir: folder,
      runDir: folder,
      config: { socketPath: join(folder, 'exec.sock'), internalToken: INTERNAL_TOKEN },
    },
    host.register,
  )
}

async function overSocket(era: Era): Promise<Client> {
  const socket = connect(mcpServer.ready.endpoints.unix ?? '')
  socket.write(formatAttach({ token: AGENT_TOKEN, cwd: folder, pid: process.pid }))
  return await connectLines(socket, socket, era)
}
async function overHttp(era: Era): Promise<Client> {
  const client = new Client(TEST_CLIENT, eraOptions(era))
  const headers = { authorization: `Bearer ${AGENT_TOKEN}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(mcpServer.ready.endpoints.http ?? ''), { requestInit: { headers } }),
  )
  return client
}
function residentBytes({ child }: LaunchedSidecar): number {
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })
  return Number(stdout) * 1024
}
const run = (client: Client, args: Record<string, unknown>, options?: { signal?: AbortSignal }) =>
  client.callTool({ name: 'run_command', arguments: { cwd: folder, ...args } }, options)

describe.each(ERAS.flatMap((era) => [['socket', era, overSocket] as const, ['HTTP', era, overHttp] as const]))(
  'over %s in the %s era',
  (_carrier, era, connectClient) => {
    test('the owner is asked exactly what runs, and the agent gets its result', async () => {
      const client = await connectClient(era)
      const call = run(client, { argv: ['sh', '-c', 'echo "$GREETING"; pwd; exit 3'], env: { GREETING: 'hello' } })
      await expect.poll(() => host.questions.length).toBe(1)
      const [question] = host.questions
      expect(question).toMatchObject({
        gate: 'ask',
        origin: { sessionId: host.sessions[0]?.id, toolCallId: expect.any(String) },
        subject: { kind: 'command', argv: ['sh', '-c', 'echo "$GREETING"; pwd; exit 3'], cwd: folder, tty: false },
      })
      expect(question?.subject).toMatchObject({ envChanges: { GREETING: 'hello' } })
      question?.allow()
      expect(factsOf(await call)).toMatchObject({ status: 'exited', exitCode: 3, output: `hello\n${folder}\n` })
      await client.close()
    })

    test('a denial carries the words of the owner and nothing runs', async () => {
      const client = await connectClient(era)
      const call = run(client, { shell: `touch ${folder}/canary` })
      await expect.poll(() => host.questions.length).toBe(1)
      host.questions[0]?.deny('not on this branch')
      const result = await call
      expect(result.isError).toBe(true)
      expect(textOf(result)).toContain('not on this branch')
      host.policy = (question) => question.allow()
      expect(factsOf(await run(client, { argv: ['ls', folder] })).output).not.toContain('canary')
      await client.close()
    })

    test('M17 cancelling withdraws the question, and the next command works at once', async () => {
      const client = await connectClient(era)
      const controller = new AbortController()
      const call = run(client, { shell: 'sleep 300' }, { signal: controller.signal })
      await expect.poll(() => host.questions.length).toBe(1)
      controller.abort(new Error('escape'))
      await expect(call).rejects.toThrow()
      await expect.poll(() => host.questions[0]?.isWithdrawn).toBe(true)
      host.policy = (question) => question.allow()
      expect(factsOf(await run(client, { argv: ['echo', 'ok'] }))).toMatchObject({ output: 'ok\n' })
      await client.close()
    })
  },
)

test('two seconds of output arrive to the last byte, by hash, with gaps in the text that say so', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('modern')
  const script = 'i=0; while [ $i -lt 20 ]; do head -c 65536 /dev/urandom; i=$((i+1)); sleep 0.1; done'
  const result = await run(client, { shell: `(${script}) > all; cat all; sha256sum all >&2` })
  const facts = factsOf(result)
  expect(facts).toMatchObject({ status: 'exited', exitCode: 0 })
  const parts: Buffer[] = []
  let cursor: unknown
  for (;;) {
    const page = factsOf(
      await client.callTool({
        name: 'read_output',
        arguments: {
          processId: 'p1',
          encoding: 'base64',
          maxBytes: 500_000,
          ...(cursor === undefined ? {} : { cursor }),
        },
      }),
    )
    for (const chunk of page.chunks as { stream: string; base64: string }[])
      if (chunk.stream === 'stdout') parts.push(Buffer.from(chunk.base64, 'base64'))
    cursor = page.nextCursor
    if (page.atEnd) break
  }
  const hash = createHash('sha256').update(Buffer.concat(parts)).digest('hex')
  expect(facts.output).toContain(`${hash}  all`)
  await client.close()
})

test('E08 100 MB are counted exactly, cost no memory, hold up nobody, and can be read to the last line', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('legacy')
  const before = residentBytes(mcpServer)
  const flood = run(client, { shell: 'head -c 104857600 /dev/zero | tr "\\0" x; echo; echo END' })
  await expect.poll(() => host.questions.length).toBe(1)
  expect(factsOf(await run(client, { argv: ['echo', 'ping'] })).output).toBe('ping\n')
  expect(factsOf(await flood)).toMatchObject({
    exitCode: 0,
    outputBytes: 104857605,
    output: expect.stringMatching(/\nEND\n$/),
  })
  expect(residentBytes(mcpServer) - before).toBeLessThan(100 * 1024 * 1024)
  let readBytes = 0
  let cursor: unknown
  for (;;) {
    const page = factsOf(
      await client.callTool({
        name: 'read_output',
        arguments: {
          processId: 'p1',
          encoding: 'base64',
          maxBytes: 1048576,
          ...(cursor === undefined ? {} : { cursor }),
        },
      }),
    )
    expect(page).not.toHaveProperty('lost')
    readBytes += page.bytes as number
    cursor = page.nextCursor
    if (page.atEnd) break
  }
  expect(readBytes).toBe(104857605)
  await client.close()
})

test('E25 a time limit ends the whole group', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('legacy')
  const result = await run(client, { shell: 'sleep 300 & echo $!; sleep 300', timeoutMs: 500 })
  expect(result.isError).toBe(true)
  expect(factsOf(result)).toMatchObject({ status: 'timed_out' })
  const child = Number.parseInt(String(factsOf(result).output), 10)
  await expect.poll(() => isAlive(child)).toBe(false)
  await client.close()
})

test('a terminal runs, takes keys and ends with Ctrl-D', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('legacy')
  await run(client, { argv: ['cat'], tty: true, background: true })
  await client.callTool({ name: 'write_stdin', arguments: { processId: 'p1', text: 'typed\n', endInput: true } })
  const result = factsOf(await client.callTool({ name: 'get_result', arguments: { processId: 'p1' } }))
  expect(result).toMatchObject({ status: 'exited', exitCode: 0, output: 'typed\r\ntyped\r\n' })
  await client.close()
})

test('an exec server that is killed loses its processes by name, and the next command works', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('modern')
  const call = run(client, { shell: 'sleep 300' })
  await expect.poll(() => host.questions.length).toBe(1)
  await run(client, { argv: ['true'] })
  await execServer.kill()
  const lost = await call
  expect(lost.isError).toBe(true)
  expect(factsOf(lost)).toMatchObject({ status: 'lost' })
  const down = await run(client, { argv: ['true'] })
  expect(down.isError).toBe(true)
  expect(textOf(down)).toContain('exec server')
  execServer = await startExecServer()
  expect(factsOf(await run(client, { argv: ['echo', 'back'] }))).toMatchObject({ output: 'back\n' })
  await client.close()
})

test('a program that does not exist is named', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('legacy')
  const result = await run(client, { argv: ['no-such-program-987'] })
  expect(result.isError).toBe(true)
  expect(textOf(result)).toContain('the program no-such-program-987 was not found')
  await client.close()
})

test('request_permission is decided by the host and bound to what was shown', async () => {
  const client = await overSocket('legacy')
  const input = { command: 'rm -rf dist' }
  const call = client.callTool({
    name: 'request_permission',
    arguments: { tool_name: 'Bash', input, tool_use_id: 'toolu_1' },
  })
  await expect.poll(() => host.questions.length).toBe(1)
  expect(host.questions[0]).toMatchObject({
    subject: { kind: 'toolUse', toolName: 'Bash', input },
    origin: { toolCallId: 'toolu_1' },
  })
  host.questions[0]?.allow()
  expect(JSON.parse(textOf(await call))).toEqual({ behavior: 'allow', updatedInput: input })
  await client.close()
})

test('when the host stops, what agents run ends and sessions are told closed', async () => {
  host.policy = (question) => question.allow()
  const client = await overSocket('legacy')
  const started = factsOf(await run(client, { shell: 'echo $$; sleep 300', background: true }))
  expect(started.status).toBe('running')
  const page = await client.callTool({ name: 'read_output', arguments: { processId: 'p1', waitMs: 5000 } })
  const pid = Number.parseInt(String(factsOf(page).output), 10)
  expect(isAlive(pid)).toBe(true)
  await mcpServer.shutdown()
  expect(isAlive(pid)).toBe(false)
  expect(host.closed).toEqual([host.sessions[0]?.id])
})
