import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { UnixListener } from '../../rpc/unix-socket.ts'
import { LocalExec } from '../../testing/local-exec.ts'
import { connectLines, ERAS, factsOf } from '../../testing/mcp-line-client.ts'
import { RecordingHost } from '../../testing/recording-host.ts'
import { formatAttach } from '../client/attach-line.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'
import { listenForAttach } from './attach-listener.ts'

const TOKEN = 'agents-token'
let folder: string
let host: RecordingHost
let exec: LocalExec
let registry: SessionRegistry
let listener: UnixListener
let log: string[]
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gh-attach-'))
  host = new RecordingHost()
  exec = new LocalExec()
  registry = new SessionRegistry(host, exec)
  log = []
  listener = await listenForAttach({
    socketPath: join(folder, 'mcp.sock'),
    agentToken: TOKEN,
    registry,
    log: (message) => log.push(message),
  })
})
afterEach(async () => {
  await registry.dispose('over')
  await listener.close()
  await exec.dispose()
  rmSync(folder, { recursive: true })
})

function open(firstLine: string): Socket {
  const socket = connect(listener.path)
  socket.write(firstLine)
  return socket
}
async function everything(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

test.each(ERAS)('a client that attaches becomes a session named from its clientInfo (%s)', async (era) => {
  const socket = open(formatAttach({ token: TOKEN, cwd: '/tmp', pid: 4242 }))
  const client = await connectLines(socket, socket, era)
  expect(factsOf(await client.callTool({ name: 'run_command', arguments: { argv: ['pwd'] } }))).toMatchObject({
    output: '/tmp\n',
  })
  expect(host.sessions).toEqual([
    expect.objectContaining({
      agentName: 'Line Agent',
      agentVersion: '3.1.0',
      cwd: '/tmp',
      via: 'mcp-stdio',
      pid: 4242,
      id: expect.stringMatching(/^ses_[0-9a-f]{16}$/),
    }),
  ])
  await client.close()
  await expect.poll(() => host.ended.length).toBe(1)
})

test('A13 the socket is for its owner only', () => {
  expect(statSync(listener.path).mode & 0o777).toBe(0o600)
})

test('a wrong token is refused with a reason and opens nothing', async () => {
  const text = await everything(open(formatAttach({ token: 'guess' })))
  expect(JSON.parse(text)).toEqual({ gatehouse: 'refused', reason: expect.stringContaining('wrong token') })
  expect(host.sessions).toEqual([])
  expect(log).toEqual([expect.stringContaining('refused')])
})

test.each([
  '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n',
  'GET / HTTP/1.1\r\n\r\n',
  '{"gatehouse":"attach","token":7}\n',
])('the first line %j is refused', async (line) => {
  expect(await everything(open(line))).toContain('"refused"')
})

test('a first line without end is cut off, and others are served meanwhile', async () => {
  const endless = open('x'.repeat(70_000))
  const socket = open(formatAttach({ token: TOKEN, cwd: '/tmp' }))
  const client = await connectLines(socket, socket, 'legacy')
  expect((await client.listTools()).tools.length).toBeGreaterThan(0)
  expect(await everything(endless)).toBe('')
  await client.close()
})

test('requests that come in one packet with the attach line are answered, also after a half-close', async () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2099-01-01', capabilities: {}, clientInfo: { name: 'netcat', version: '1' } },
  }
  const socket = connect({ path: listener.path, allowHalfOpen: true })
  socket.end(
    `${formatAttach({ token: TOKEN })}${JSON.stringify(initialize)}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n`,
  )
  const answers = (await everything(socket))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; result: object })
  expect(answers.map(({ id }) => id)).toEqual([1, 2])
  // A8: never a version it was only asked for.
  expect(answers[0]?.result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'gatehouse' } })
})

test('an unknown or finished cancel is ignored', async () => {
  const socket = open(formatAttach({ token: TOKEN, cwd: '/tmp' }))
  const client = await connectLines(socket, socket, 'legacy')
  for (const requestId of [999, 'none', 1])
    await client.notification({ method: 'notifications/cancelled', params: { requestId } })
  expect(factsOf(await client.callTool({ name: 'run_command', arguments: { argv: ['echo', 'x'] } }))).toMatchObject({
    output: 'x\n',
  })
  await client.close()
})
