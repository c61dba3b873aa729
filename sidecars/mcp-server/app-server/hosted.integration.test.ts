import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { threadsNews } from '../../protocol/host-channel.ts'
import { DecidingHost, type Question } from '../../testing/deciding-host.ts'
import { launchSidecar, type LaunchedSidecar } from '../../testing/launched-sidecar.ts'
import { ScriptedModel, type ModelScript } from '../../testing/scripted-model.ts'

const TOKEN = 'agents-token'
const ESCALATED = { sandbox_permissions: 'require_escalated', justification: 'may I?' }
let folder: string
let work: string
let host: DecidingHost
let news: { method: string; params: Record<string, never> }[]
let model: ScriptedModel
let exec: LaunchedSidecar
let mcp: LaunchedSidecar

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-hosted-'))
  work = join(folder, 'work')
  mkdirSync(work)
  host = new DecidingHost()
  news = []
})
afterEach(async () => {
  await mcp.shutdown()
  await exec.shutdown()
  model.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(scripts: Record<string, ModelScript>): Promise<void> {
  model = await ScriptedModel.start(scripts)
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  writeFileSync(
    join(dataDir, 'config.toml'),
    `model_provider = "scripted"\nmodel = "scripted-model"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.baseUrl}"\n`,
  )
  const common = { dataDir, runDir: folder }
  exec = await launchSidecar(
    'exec-server',
    { ...common, config: { socketPath: join(folder, 'exec.sock'), internalToken: 'internal' } },
    (peer) => {
      host.register(peer)
    },
  )
  mcp = await launchSidecar(
    'mcp-server',
    {
      ...common,
      config: {
        socketPath: join(folder, 'mcp.sock'),
        agentToken: TOKEN,
        execServer: { socketPath: join(folder, 'exec.sock'), token: 'internal' },
        appServer: { socketPath: join(folder, 'app-server.sock'), websocket: { port: 0 } },
      },
    },
    (peer) => {
      host.register(peer)
      peer.onNotification('threads/news', threadsNews, (said) => void news.push(said as (typeof news)[number]))
    },
  )
}
/** Commands that only the engine's own approval holds back are recorded, not asked about. */
const argvOf = (question: Question | undefined) => question?.subject.kind === 'command' && question.subject.argv
const asked = () => host.questions.filter(({ gate }) => gate === 'ask')
const recordOnly = () => (host.policy = (question) => question.gate === 'observe' && question.allow())

const call = (method: string, params: object): Promise<Record<string, never>> =>
  mcp.host.request('threads/call', { method, params }, (value) => value as Record<string, never>)
async function newThread(more: object = {}): Promise<string> {
  const { thread } = (await call('thread/start', { cwd: work, sandbox: 'danger-full-access', ...more })) as unknown as {
    thread: { id: string }
  }
  return thread.id
}
const say = (threadId: string, text: string) => call('turn/start', { threadId, input: [{ type: 'text', text }] })
const completed = () =>
  expect.poll(() => news.some(({ method }) => method === 'turn/completed'), { timeout: 10_000 }).toBe(true)
const removal = (path: string) => ({ call: 'exec_command', args: { cmd: `rm -rf ${path}` } })

test('a thread is a session whose title is its first words, and a command is asked about as it will run', async () => {
  await start({ one: [[removal('gone')], [{ say: 'done' }]] })
  recordOnly()
  const threadId = await newThread()
  expect(host.sessions).toMatchObject([{ id: `ses_${threadId}`, agentName: 'Gatehouse', via: 'app-server', cwd: work }])
  mkdirSync(join(work, 'gone'))
  await say(threadId, '[[one]] clean up')
  await expect.poll(() => asked().length).toBe(1)
  const [question] = asked()
  expect(question).toMatchObject({
    origin: { sessionId: `ses_${threadId}` },
    subject: { kind: 'command', cwd: work, tty: false, sandbox: 'none', envChanges: { NO_COLOR: '1' } },
  })
  expect(argvOf(question)).toEqual([expect.any(String), '-lc', 'rm -rf gone'])
  question?.allow()
  await completed()
  expect(model.requests).toHaveLength(2)
  const ran = host.questions.find(({ gate }) => gate === 'observe')
  expect(ran).toMatchObject({ origin: { sessionId: `ses_${threadId}` } })
  expect(argvOf(ran)).toEqual(argvOf(question))
})

test('a denial with words runs nothing and the model reads the words', async () => {
  await start({ one: [[removal('kept')], [{ say: 'understood' }]] })
  recordOnly()
  mkdirSync(join(work, 'kept'))
  await say(await newThread(), '[[one]] clean up')
  await expect.poll(() => asked().length).toBe(1)
  asked()[0]?.deny('keep that folder')
  await completed()
  expect(model.lastInput).toContain('keep that folder')
  expect(host.questions.some(({ gate }) => gate === 'observe')).toBe(false)
})

test('a client of the socket that answers first withdraws the question from the Inbox', async () => {
  await start({ one: [[removal('gone')], [{ say: 'done' }]] })
  recordOnly()
  const threadId = await newThread()
  const client = new WebSocket(`ws+unix://${join(folder, 'app-server.sock')}:/`)
  client.on('message', (text: Buffer) => {
    const { id, method } = JSON.parse(text.toString()) as { id?: number; method?: string }
    if (method === 'item/commandExecution/requestApproval')
      client.send(JSON.stringify({ id, result: { decision: 'accept' } }))
  })
  await new Promise((resolve) => client.once('open', resolve))
  client.send(JSON.stringify({ id: 1, method: 'initialize', params: { clientInfo: { name: 't', version: '1' } } }))
  client.send(JSON.stringify({ id: 2, method: 'thread/resume', params: { threadId } }))
  await say(threadId, '[[one]] clean up')
  await completed()
  await expect.poll(() => asked().map(({ isWithdrawn }) => isWithdrawn)).toEqual([true])
  client.close()
})

test('a WebSocket needs the agents’ token', async () => {
  await start({})
  const refused = new WebSocket(mcp.ready.endpoints.appServerWs ?? '')
  const status = await new Promise((resolve) =>
    refused.once('unexpected-response', (_, { statusCode }) => resolve(statusCode)),
  )
  expect(status).toBe(401)
  const open = new WebSocket(mcp.ready.endpoints.appServerWs ?? '', { headers: { authorization: `Bearer ${TOKEN}` } })
  await new Promise((resolve) => open.once('open', resolve))
  open.close()
})

test('an escalation out of the sandbox is asked about even when nothing dangerous is in it', async () => {
  await start({ one: [[{ call: 'exec_command', args: { cmd: 'touch made', ...ESCALATED } }], [{ say: 'done' }]] })
  recordOnly()
  await say(await newThread({ sandbox: 'read-only' }), '[[one]] make it')
  await expect.poll(() => asked().length).toBe(1)
  asked()[0]?.allow()
  await completed()
  expect(model.lastInput).toContain('Process exited with code 0')
})
