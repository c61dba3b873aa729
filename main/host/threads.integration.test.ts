import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { OwnerThreadCalls, OwnerThreadMethod, ThreadNews } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import { sessionOfThread } from '../../sidecars/protocol/ids.ts'
import { ScriptedModel } from '../../sidecars/testing/scripted-model.ts'
import type { Host } from '../host.ts'
import { builtHost } from '../testing/built-host.ts'

const owner: Actor = { kind: 'person', via: 'window' }
const until = <T>(look: () => T) => vi.waitUntil(look, { timeout: 20_000, interval: 10 })

let dataDir: string
let host: Host
let model: ScriptedModel
let news: ThreadNews[]

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gh-threads-'))
  await mkdir(join(dataDir, 'run'), { mode: 0o700 })
  model = await ScriptedModel.start({
    hello: [[{ say: 'Hello there.' }]],
    remove: [[{ call: 'exec_command', args: { cmd: 'rm -rf gone' } }], [{ say: 'Removed.' }]],
    hang: [[{ hang: true }]],
    form: [[{ call: 'ask', args: {}, namespace: 'mcp__mini' }], [{ say: 'Thank you.' }]],
  })
  await startHost()
})
afterEach(async () => {
  await host.stop(5_000)
  model.close()
  await rm(dataDir, { recursive: true, force: true })
})

async function startHost(): Promise<void> {
  news = []
  host = await builtHost(dataDir)
  await host.start()
  host.onThreadNews((said) => void news.push(said))
}
const call = async <M extends OwnerThreadMethod>(method: M, params: OwnerThreadCalls[M]['params']) =>
  (await host.invoke('threads.call', [method, params], owner)) as OwnerThreadCalls[M]['result']
const pending = () => Object.values(host.feed.snapshot().tables.approvals).find(({ state }) => state === 'pending')
const sessionView = (threadId: string) => host.feed.snapshot().tables.sessions[sessionOfThread(threadId)]
const heard = (method: string) => until(() => news.find((said) => said.method === method))

async function useProvider(): Promise<void> {
  await call('config/batchWrite', {
    edits: [
      {
        keyPath: 'model_providers.scripted',
        value: { name: 'Scripted', base_url: model.baseUrl },
        mergeStrategy: 'upsert',
      },
      { keyPath: 'model_provider', value: 'scripted', mergeStrategy: 'replace' },
    ],
  })
}
async function start(): Promise<string> {
  return (await call('thread/start', { cwd: dataDir, sandbox: 'read-only' })).thread.id
}
const say = (threadId: string, text: string) => call('turn/start', { threadId, input: [{ type: 'text', text }] })

test('a session that the window starts is a row with its first words, and its news arrive', async () => {
  await useProvider()
  const threadId = await start()
  await say(threadId, '[[hello]] good day')
  await heard('turn/completed')
  await until(() => sessionView(threadId)?.posture === 'idle')
  expect(sessionView(threadId)).toMatchObject({
    agentName: 'Gatehouse',
    title: '[[hello]] good day',
    via: 'app-server',
  })
  const said = news.filter(({ method }) => method === 'item/agentMessage/delta').map(({ params }) => params.delta)
  expect(said.join('')).toBe('Hello there.')
  const { data } = await call('thread/items/list', { threadId, sortDirection: 'desc' })
  expect(data.map(({ item }) => item.type)).toEqual(['agentMessage', 'userMessage'])
})

test('its command waits in the Inbox, and the words of a denial reach the model', async () => {
  await useProvider()
  const threadId = await start()
  await say(threadId, '[[remove]] tidy')
  const card = (await until(pending))!
  expect(card).toMatchObject({
    agentName: 'Gatehouse',
    sessionId: sessionOfThread(threadId),
    subject: { kind: 'command' },
  })
  await until(() => sessionView(threadId)?.posture === 'waits')
  const { id: requestId, subjectHash } = card
  const no = { requestId, subjectHash, verdict: 'deny' as const, scope: 'once' as const, reason: 'leave it' }
  await host.invoke('approvals.decide', [no], owner)
  await heard('turn/completed')
  expect(model.lastInput).toContain('leave it')
})

test('the form of an MCP server is filled in at the Inbox, and what was filled in reaches the server alone', async () => {
  await useProvider()
  await call('config/batchWrite', {
    edits: [
      {
        keyPath: 'mcp_servers.mini',
        value: {
          command: process.execPath,
          args: [join(import.meta.dirname, '../../sidecars/testing/mini-mcp-server.mjs')],
        },
        mergeStrategy: 'upsert',
      },
    ],
  })
  const threadId = await start()
  await say(threadId, '[[form]] please')
  const card = (await until(pending))!
  expect(card).toMatchObject({
    scopes: ['once'],
    subject: { kind: 'elicitation', serverName: 'mini', message: 'What colour?' },
  })
  const { id: requestId, subjectHash } = card
  const yes = { requestId, subjectHash, verdict: 'allow' as const, scope: 'once' as const }
  expect(await host.invoke('approvals.decide', [yes], owner)).toMatchObject({
    ok: false,
    message: expect.stringContaining('colour needs an answer'),
  })
  expect(await host.invoke('approvals.decide', [{ ...yes, content: { colour: 'ultramarine' } }], owner)).toEqual({
    ok: true,
  })
  await heard('turn/completed')
  expect(model.lastInput).toContain('ultramarine')
  expect(JSON.stringify(host.feed.snapshot())).not.toContain('ultramarine')
})

test('interrupting the session ends its turn', async () => {
  await useProvider()
  const threadId = await start()
  await say(threadId, '[[hang]]')
  await until(() => model.requests.length === 1)
  await host.invoke('sessions.interrupt', [sessionOfThread(threadId)], owner)
  const { params } = (await heard('turn/completed'))!
  expect(params.turn).toMatchObject({ status: 'interrupted' })
})

test('what was said is there after a restart of the host, and goes on', async () => {
  await useProvider()
  const threadId = await start()
  await say(threadId, '[[hello]]')
  await heard('turn/completed')
  await host.stop(5_000)
  await startHost()
  const { data } = await call('thread/list', { modelProviders: [] })
  expect(data.map(({ id }) => id)).toEqual([threadId])
  await call('thread/resume', { threadId, excludeTurns: true })
  await until(() => sessionView(threadId)?.posture === 'idle')
  await say(threadId, '[[hello]] again')
  await heard('turn/completed')
  expect(model.lastInput).toContain('Hello there.')
})

test('only the methods of the window go through, and a refusal keeps its words', async () => {
  await expect(call('fs/readFile' as OwnerThreadMethod, {} as never)).rejects.toMatchObject({ code: 'invalidParams' })
  await expect(say('01900000-0000-7000-8000-000000000000', 'x')).rejects.toThrow('thread not found')
  await expect(call('gatehouse/provider/check', { baseUrl: 'http://127.0.0.1:1/v1' })).rejects.toThrow(
    'cannot be reached',
  )
  expect((await call('gatehouse/provider/check', { baseUrl: model.baseUrl })).models).toContain('scripted-model')
})

test('without a key a session says how to get one, and its shell commands run all the same', async () => {
  const threadId = await start()
  await say(threadId, 'hello')
  const { params } = (await heard('turn/completed'))!
  expect(params.turn).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('OPENAI_API_KEY') } })
  await call('thread/shellCommand', { threadId, command: 'echo from the shell' })
  const item = await until(() =>
    news
      .filter(({ method }) => method === 'item/completed')
      .map(({ params: said }) => said.item as { type: string; aggregatedOutput?: string })
      .find(({ type }) => type === 'commandExecution'),
  )
  expect(item?.aggregatedOutput).toContain('from the shell')
})

test('the key of a provider is looked up where the owner has it, since sidecars do not inherit it', async () => {
  const check = (envKey: string) => call('gatehouse/provider/check', { baseUrl: model.baseUrl, envKey })
  process.env.GATEHOUSE_TEST_KEY = 'right'
  process.env.GATEHOUSE_TEST_WRONG_KEY = 'wrong'
  try {
    expect((await check('GATEHOUSE_TEST_KEY')).models).toContain('scripted-model')
    await expect(check('GATEHOUSE_TEST_WRONG_KEY')).rejects.toThrow('the key is missing or not accepted')
  } finally {
    delete process.env.GATEHOUSE_TEST_KEY
    delete process.env.GATEHOUSE_TEST_WRONG_KEY
  }
})
