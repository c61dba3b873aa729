import { request as httpRequest } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isAlive } from '../../testing/is-alive.ts'
import { HeldGate, LocalExec } from '../../testing/local-exec.ts'
import { ERAS, eraOptions, factsOf, TEST_CLIENT, type Era } from '../../testing/mcp-line-client.ts'
import { RecordingHost } from '../../testing/recording-host.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'
import { createAgentServer } from '../tools/agent-server.ts'
import { listenHttp, type HttpListener } from './http-listener.ts'

const TOKEN = 'agents-token'
let host: RecordingHost
let exec: LocalExec
let registry: SessionRegistry
let listener: HttpListener
beforeEach(async () => {
  host = new RecordingHost()
  exec = new LocalExec()
  registry = new SessionRegistry(host, exec)
  listener = await listenHttp(0, { agentToken: TOKEN, registry, createServer: createAgentServer, log: () => {} })
})
afterEach(async () => {
  await registry.dispose('over')
  await listener.close()
  await exec.dispose()
})

async function connect(
  era: Era,
  name = TEST_CLIENT.name,
): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> {
  const transport = new StreamableHTTPClientTransport(new URL(listener.url), {
    requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
  })
  const client = new Client({ name, version: '1' }, eraOptions(era))
  await client.connect(transport)
  return { client, transport }
}

/** A request with every header as given; `fetch` would not let Host through. */
function raw(
  headers: Record<string, string>,
  body: string | undefined,
  { method = 'POST', path = '/mcp' } = {},
): Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }> {
  const { port } = new URL(listener.url)
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
const GOOD = {
  authorization: `Bearer ${TOKEN}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })

describe.each(ERAS)('in the %s era', (era) => {
  test('a client calls tools and is one session over all its requests', async () => {
    const { client } = await connect(era)
    await client.listTools()
    await client.callTool({ name: 'run_command', arguments: { shell: 'sleep 300', cwd: '/tmp', background: true } })
    const listed = factsOf(await client.callTool({ name: 'list_processes', arguments: {} }))
    expect(listed.processes).toEqual([expect.objectContaining({ processId: 'p1', status: 'running' })])
    expect(host.sessions).toEqual([expect.objectContaining({ agentName: TEST_CLIENT.name, via: 'mcp-http' })])
    await client.close()
  })

  test('two agents are two sessions and do not see each other', async () => {
    const one = await connect(era, 'one')
    const two = await connect(era, 'two')
    await one.client.callTool({ name: 'run_command', arguments: { argv: ['true'], cwd: '/tmp' } })
    expect(factsOf(await two.client.callTool({ name: 'list_processes', arguments: {} }))).toEqual({ processes: [] })
    expect(host.sessions.map(({ agentName }) => agentName)).toEqual(['one', 'two'])
  })

  test('cancelling a call ends its command', async () => {
    const { client } = await connect(era)
    const controller = new AbortController()
    const call = client.callTool(
      { name: 'run_command', arguments: { shell: 'sleep 300', cwd: '/tmp' } },
      { signal: controller.signal },
    )
    await expect.poll(() => exec.processes.length).toBe(1)
    controller.abort(new Error('escape'))
    await expect(call).rejects.toThrow()
    await expect.poll(() => isAlive(exec.processes[0]?.pid ?? 0)).toBe(false)
  })

  test('a client that is gone withdraws what it asked', async () => {
    const gate = new HeldGate()
    exec.gate = gate.ask
    const { client, transport } = await connect(era)
    const call = client.callTool({ name: 'run_command', arguments: { shell: 'echo x', cwd: '/tmp' } })
    await expect.poll(() => gate.pending).toBe(1)
    await transport.close()
    await expect(call).rejects.toThrow()
    await expect.poll(() => gate.withdrawn.length).toBe(1)
  })

  test('progress arrives while a person decides', async () => {
    const gate = new HeldGate()
    exec.gate = gate.ask
    const { client } = await connect(era)
    const messages: (string | undefined)[] = []
    const call = client.callTool(
      { name: 'run_command', arguments: { shell: 'echo x', cwd: '/tmp' } },
      { onprogress: ({ message }) => messages.push(message) },
    )
    await expect.poll(() => messages).toContain('waiting for approval in Gatehouse')
    gate.allow()
    expect(factsOf(await call)).toMatchObject({ output: 'x\n' })
  })

  test('without a working folder the answer names the argument', async () => {
    const { client } = await connect(era)
    const result = await client.callTool({ name: 'run_command', arguments: { argv: ['pwd'] } })
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^cwd: .*absolute path/) }] })
  })
})

test('M19 an unknown session is 404, a missing one 400, and initialize with a stale one begins anew', async () => {
  const stale = { ...GOOD, 'mcp-session-id': '3f1c…old'.replace('…', '-') }
  const answers = [
    await raw(stale, LIST),
    await raw(GOOD, LIST),
    await raw(stale, INITIALIZE),
    await raw(stale, undefined, { method: 'GET' }),
    await raw(stale, undefined, { method: 'DELETE' }),
    await raw(GOOD, undefined, { method: 'DELETE' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([404, 400, 200, 404, 404, 400])
  const fresh = answers[2]?.headers['mcp-session-id']
  expect(fresh).toMatch(/^[0-9a-f-]{36}$/)
  expect((await raw({ ...GOOD, 'mcp-session-id': String(fresh) }, LIST)).status).toBe(200)
})

test('DELETE ends the session and what ran in it', async () => {
  const { client, transport } = await connect('legacy')
  await client.callTool({ name: 'run_command', arguments: { shell: 'sleep 300', cwd: '/tmp', background: true } })
  await transport.terminateSession()
  await expect.poll(() => host.ended.map(({ reason }) => reason)).toEqual(['the client ended its session'])
  await expect.poll(() => isAlive(exec.processes[0]?.pid ?? 0)).toBe(false)
})

test('roots are the default folder of a client that has no other', async () => {
  const transport = new StreamableHTTPClientTransport(new URL(listener.url), {
    requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
  })
  const client = new Client(TEST_CLIENT, { ...eraOptions('legacy'), capabilities: { roots: {} } })
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///usr/lib' }] }))
  await client.connect(transport)
  expect(factsOf(await client.callTool({ name: 'run_command', arguments: { argv: ['pwd'] } }))).toMatchObject({
    output: '/usr/lib\n',
  })
  await client.close()
})

test('A12 only local programs with the token get through', async () => {
  const { authorization: _, ...anonymous } = GOOD
  const answers = {
    'no token': await raw(anonymous, INITIALIZE),
    'wrong token': await raw({ ...GOOD, authorization: 'Bearer guess' }, INITIALIZE),
    'token in the query': await raw(anonymous, INITIALIZE, { path: `/mcp?token=${TOKEN}` }),
    'rebound name': await raw({ ...GOOD, host: 'evil.example' }, INITIALIZE),
    'web page': await raw({ ...GOOD, origin: 'https://evil.example' }, INITIALIZE),
    'opaque page': await raw({ ...GOOD, origin: 'null' }, INITIALIZE),
    'other path': await raw(GOOD, INITIALIZE, { path: '/' }),
    'not JSON': await raw({ ...GOOD, 'content-type': 'text/plain' }, INITIALIZE),
    'broken JSON': await raw(GOOD, '{"jsonrpc":'),
    'too large': await raw(GOOD, JSON.stringify({ x: 'y'.repeat(5 * 1024 * 1024) })),
    'local page': await raw({ ...GOOD, origin: 'http://localhost:5173' }, INITIALIZE),
  }
  expect(Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]))).toEqual({
    'no token': 401,
    'wrong token': 401,
    'token in the query': 401,
    'rebound name': 403,
    'web page': 403,
    'opaque page': 403,
    'other path': 404,
    'not JSON': 415,
    'broken JSON': 400,
    'too large': 413,
    'local page': 200,
  })
  for (const [name, { status, body }] of Object.entries(answers))
    if (status !== 200)
      expect(JSON.parse(body), name).toMatchObject({ jsonrpc: '2.0', error: { message: expect.any(String) } })
})

test('a port that is in use is an error that names it', async () => {
  const port = Number(new URL(listener.url).port)
  await expect(
    listenHttp(port, { agentToken: TOKEN, registry, createServer: createAgentServer, log: () => {} }),
  ).rejects.toThrow(`127.0.0.1:${port}: another program uses the port`)
})
