/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */
/** Operations on threads in the states that matter: idle, running, waiting, ending, handed over, unstorable. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AppServerClient, AppServerMessage } from '../../testing/app-server-client.ts'
import { memoryClient } from '../../testing/app-server-memory.ts'
import { ScriptedModel } from '../../testing/scripted-model.ts'
import { AppServer } from './app-server.ts'
import { HomeRules } from './home-rules.ts'
import { sandboxRootsOf } from './sandbox-policy.ts'

let home: string
let model: ScriptedModel
let servers: AppServer[]
let c: AppServerClient
let id: string

const startServer = (): AppServer => {
  const server = new AppServer({
    home,
    exec: () => expect.unreachable() as never,
    rules: new HomeRules({ home }),
    sandboxObject: () => null,
    sandboxRoots: sandboxRootsOf,
    shell: { path: '/bin/sh', name: 'sh' },
    log: () => undefined,
  })
  servers.push(server)
  return server
}
const open = () => memoryClient(startServer()).open()
const configText = (more = '') =>
  `model = "gpt-5.5"\nmodel_provider = "fake"\n[model_providers.fake]\nbase_url = "${model.baseUrl}"\nstream_max_retries = 0\nrequest_max_retries = 0\n${more}`

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'gh-operations-'))
  servers = []
  model = await ScriptedModel.start({
    hello: [[{ say: 'Hello there.' }, { usage: 500 }]],
    more: [[{ say: 'More.' }, { usage: 900 }]],
    ask: [[{ call: 'exec_command', args: { cmd: 'true', sandbox_permissions: 'require_escalated' } }], [{ say: 'x' }]],
    hang: [[{ hang: true }]],
    later: (attempt) => (attempt === 1 ? [{ hang: true }] : [{ say: 'Went on.' }]),
    echo: [[{ call: 'echo', args: { text: 'hi' }, namespace: 'mcp__mini' }], [{ say: 'echoed' }]],
  })
  writeFileSync(join(home, 'config.toml'), configText())
  c = await open()
  id = (await c.call('thread/start', { cwd: home })).thread.id
})
afterEach(async () => {
  for (const server of servers) await server.close()
  model.close()
  rmSync(home, { recursive: true, force: true })
})

const input = (text: string) => [{ type: 'text', text }]
const asked = (script: string, count = 1) =>
  expect.poll(() => model.requests.filter((r) => r.script === script).length).toBe(count)
const methods = (messages: AppServerMessage[]) =>
  messages.flatMap((m) => (m.id === undefined && m.method ? [m.method] : []))
const refused = (method: string, params: object, client = c) =>
  client.call(method, { threadId: id, ...params }).then(
    () => expect.unreachable(),
    (error: Error) => error.message,
  )

describe('input', () => {
  it('needs words, or something beside them', async () => {
    expect(await refused('turn/start', { input: [] })).toBe('input must not be empty')
    const { turn } = await c.turn(id, '[[hello]]')
    expect(turn.status).toBe('completed')
    const from = c.seen.length
    await c.call('turn/start', {
      threadId: id,
      input: [],
      additionalContext: { note: { value: 'seen [[hello]]', kind: 'x' } },
    })
    await c.notified('turn/completed', () => true, from)
    expect(model.lastInput).toContain('<note>\\nseen [[hello]]\\n</note>')
  })

  it('that was accepted reaches the model, also in the last moment of a turn', async () => {
    const words: string[] = []
    // Sent at every step that a turn takes to its end.
    for (const method of ['item/completed', 'thread/tokenUsage/updated', 'thread/status/changed', 'turn/completed'])
      for (let n = 0; n < 3; n++) {
        const text = `[[more]] ${method} ${n}`
        let isSent = false
        let answer: Promise<unknown> | undefined
        const from = c.seen.length
        c.onMessage = (m) => {
          if (isSent || m.method !== method || (m.params.status && m.params.status.type !== 'idle')) return
          if (m.params.item && m.params.item.type !== 'agentMessage') return
          isSent = true
          answer = c.call('turn/start', { threadId: id, input: input(text) })
        }
        await c.turn(id, '[[hello]]')
        c.onMessage = () => undefined
        await expect.poll(() => answer !== undefined).toBe(true)
        await answer
        words.push(text)
        await c.notified(
          'item/completed',
          (p) => p.item.type === 'userMessage' && p.item.content[0].text === text,
          from,
        )
        await expect.poll(() => (model.lastInput.includes(text) ? 'asked' : 'not yet')).toBe('asked')
        await expect.poll(async () => (await c.call('thread/read', { threadId: id })).thread.status.type).toBe('idle')
      }
    for (const text of words) expect(model.lastInput.split(`${text}"`).length - 1, text).toBe(1)
  })
})

describe('an interruption', () => {
  it('ends open questions after the turn, and their answers are late', async () => {
    const running = c.turn(id, '[[ask]]')
    const question = await c.asked('item/commandExecution/requestApproval')
    await c.call('turn/interrupt', { threadId: id, turnId: question.params.turnId })
    await running
    await c.notified('serverRequest/resolved')
    c.send({ id: question.id, result: { decision: 'accept' } })
    const order = methods(c.seen).filter((m) => m === 'turn/completed' || m === 'serverRequest/resolved')
    expect(order).toEqual(['turn/completed', 'serverRequest/resolved'])
    expect((await c.turn(id, '[[hello]]')).turn.status).toBe('completed')
  })
})

describe('messages of other agents', () => {
  it('wait for the next turn, or start one', async () => {
    await c.call('gatehouse/thread/mail', { threadId: id, from: 'scout', text: 'quiet news' })
    expect(model.requests).toEqual([])
    await c.turn(id, '[[hello]]')
    expect(model.lastInput).toContain('<from>scout</from>\\nquiet news')
    const from = c.seen.length
    await c.call('gatehouse/thread/mail', { threadId: id, from: 'scout', text: 'look [[more]]', triggersTurn: true })
    await c.notified('turn/completed', () => true, from)
    expect(model.requests.at(-1)!.script).toBe('more')
    const running = c.turn(id, '[[hang]]')
    await asked('hang')
    await c.call('gatehouse/thread/mail', { threadId: id, from: 'scout', text: 'and [[hello]]', triggersTurn: true })
    const { turnId } = (await c.notified('turn/started', () => true, from)).params
    expect(turnId).toBeUndefined()
    await c.call('turn/interrupt', {
      threadId: id,
      turnId: (await c.call('thread/turns/list', { threadId: id })).data[0].id,
    })
    await running
    await expect.poll(() => model.lastInput).toContain('and [[hello]]')
  })

  it('are refused when nobody reads them', async () => {
    for (let n = 0; n < 100; n++) await c.call('gatehouse/thread/mail', { threadId: id, from: 'a', text: 'x' })
    expect(await refused('gatehouse/thread/mail', { from: 'a', text: 'x' })).toContain('send this one later')
    expect(await refused('gatehouse/thread/mail', { from: 'a', text: ' ' })).toContain('text must not be empty')
  })
})

describe('a running turn', () => {
  it('is left to another process, which goes on with it under its id', async () => {
    const from = c.seen.length
    void c.turn(id, '[[later]] please').catch(() => undefined)
    await asked('later')
    const { turn } = (await c.notified('turn/started', () => true, from)).params
    const { outcome } = await c.call('gatehouse/thread/suspend', { threadId: id })
    expect(outcome).toEqual({ type: 'suspended', turnId: turn.id })
    await c.notified('thread/closed')
    expect(methods(c.seen.slice(from))).not.toContain('turn/completed')
    const d = await open()
    await d.call('thread/resume', { threadId: id })
    const recovered = await d.call('gatehouse/turn/recover', { threadId: id, turnId: turn.id })
    expect(recovered.turn.id).toBe(turn.id)
    const done = await d.notified('turn/completed')
    expect(done.params.turn).toMatchObject({ id: turn.id, status: 'completed', items: [{ text: 'Went on.' }] })
    expect([model.lastInput.includes('turn_aborted'), model.lastInput.split('[[later]] please').length - 1]).toEqual([
      false,
      1,
    ])
    const { thread } = await d.call('thread/read', { threadId: id, includeTurns: true })
    expect(thread.turns.map((t: any) => [t.id, t.status, t.items.map((i: any) => i.type)])).toEqual([
      [turn.id, 'completed', ['userMessage', 'agentMessage']],
    ])
    expect((await d.call('thread/turns/list', { threadId: id })).data.map((t: any) => t.status)).toEqual(['completed'])
  })

  it('is not left when there is none or it cannot be taken over', async () => {
    expect((await c.call('gatehouse/thread/suspend', { threadId: id })).outcome).toEqual({ type: 'notActive' })
    await c.turn(id, '[[hello]]')
    const running = c.turn(id, '[[hang]]')
    await asked('hang')
    expect(await refused('gatehouse/turn/recover', { turnId: 'x' })).toContain('is working on turn')
    await c.call('thread/compact/start', { threadId: id })
    await running
    expect((await c.call('gatehouse/thread/suspend', { threadId: id })).outcome).toEqual({
      type: 'unsupportedTask',
      turnKind: 'compact',
    })
  })
})

describe('settings of a running turn', () => {
  it('count from its next request on, and for it alone', async () => {
    const running = c.turn(id, '[[ask]]')
    const question = await c.asked('item/commandExecution/requestApproval')
    const { turnId } = question.params
    const change = (more: object) => c.call('turn/settings/update', { threadId: id, turnId, ...more })
    expect(
      await change({ model: 'gpt-5.5-mini', effort: 'high', summary: 'detailed', serviceTier: 'priority' }),
    ).toEqual({
      status: 'applied',
    })
    expect(await refused('turn/settings/update', { turnId, model: '' })).toContain('model: is empty')
    expect(await refused('turn/settings/update', { turnId, effort: 5 })).toContain('effort: expected a string')
    expect(await change({ turnId: 'another', model: 'gpt-5.1' })).toEqual({ status: 'targetUnavailable' })
    c.send({ id: question.id, result: { decision: 'decline' } })
    const { messages } = await running
    const [before, after] = model.requests.slice(-2).map(({ body }) => body as any)
    expect([before.model, after.model, after.reasoning, after.service_tier]).toEqual([
      'gpt-5.5',
      'gpt-5.5-mini',
      { effort: 'high', summary: 'detailed' },
      'priority',
    ])
    expect(methods(messages)).not.toContain('thread/settings/updated')
    await c.turn(id, '[[hello]]')
    expect([(model.requests.at(-1)!.body as any).model, (model.requests.at(-1)!.body as any).service_tier]).toEqual([
      'gpt-5.5',
      undefined,
    ])
    expect(await change({ model: 'gpt-5.5-mini' })).toEqual({ status: 'targetUnavailable' })
    const plain = await memoryClient(servers[0]!).open({})
    await expect(plain.call('turn/settings/update', { threadId: id, turnId })).rejects.toThrow('experimentalApi')
  })
})

describe('what is kept', () => {
  it('settings that were changed between turns are there after a restart', async () => {
    await c.turn(id, '[[hello]]')
    await c.call('thread/settings/update', {
      threadId: id,
      approvalPolicy: 'never',
      sandboxPolicy: { type: 'readOnly', networkAccess: false },
    })
    const { path } = (await c.call('thread/read', { threadId: id })).thread
    expect(readFileSync(path, 'utf8')).toContain('thread_settings_applied')
    await servers[0]!.close()
    const d = await open()
    const resumed = await d.call('thread/resume', { threadId: id })
    expect([resumed.approvalPolicy, resumed.sandbox.type]).toEqual(['never', 'readOnly'])
  })

  it('going back counts turns of the person, recounts tokens and is refused while something runs', async () => {
    await c.turn(id, '[[hello]] one')
    await c.turn(id, '[[more]] two')
    expect(await refused('thread/rollback', { numTurns: 0 })).toContain('numTurns')
    const running = c.turn(id, '[[hang]]')
    await asked('hang')
    expect(await refused('thread/rollback', { numTurns: 1 })).toContain('is working on turn')
    await c
      .call('turn/interrupt', {
        threadId: id,
        turnId: (await c.notified('turn/started', () => true, c.seen.length - 10)).params.turn.id,
      })
      .catch(() => undefined)
    const turns = (await c.call('thread/turns/list', { threadId: id })).data
    if (turns[0].status === 'inProgress') await c.call('turn/interrupt', { threadId: id, turnId: turns[0].id })
    await running
    const { thread } = await c.call('thread/rollback', { threadId: id, numTurns: 2 })
    expect(thread.turns.map((t: any) => t.items[0].content[0].text)).toEqual(['[[hello]] one'])
    const d = await memoryClient(servers[0]!).open()
    await d.call('thread/resume', { threadId: id })
    expect((await d.notified('thread/tokenUsage/updated')).params.tokenUsage).toMatchObject({
      last: { totalTokens: 500 },
      total: { totalTokens: 500 },
    })
    await c.call('thread/rollback', { threadId: id, numTurns: 9 })
    await c.turn(id, '[[hello]] anew')
    expect(model.lastInput).not.toContain('[[hello]] one')
    const fresh = (await c.call('thread/start', { cwd: home, ephemeral: true })).thread.id
    await expect(c.call('thread/rollback', { threadId: fresh, numTurns: 1 })).rejects.toThrow('no stored history')
  })

  it('E106 a session that cannot be stored says why, works on, and is stored later without a gap', async () => {
    // A file where the folder of the month has to be.
    const [year, month] = new Date().toISOString().split('-') as [string, string]
    mkdirSync(join(home, 'sessions', year), { recursive: true })
    const blocked = join(home, 'sessions', year, month)
    const [before, after] = [new Date(Date.now() - 86_400_000), new Date(Date.now() + 86_400_000)].map(
      (d) => d.toISOString().split('-')[1],
    )
    for (const name of new Set([month, before!, after!])) writeFileSync(join(home, 'sessions', year, name), '')
    expect((await c.turn(id, '[[hello]] first')).turn.status).toBe('completed')
    expect((await c.turn(id, '[[hello]] second')).turn.status).toBe('completed')
    await c.notified('warning')
    const told = c.seen.filter((m) => m.method === 'warning').map((m) => m.params.message)
    expect(told).toEqual([
      expect.stringMatching(/not stored: .*MiB are free there.*stays in memory and is tried again/),
    ])
    for (const name of new Set([month, before!, after!])) rmSync(join(home, 'sessions', year, name))
    expect(existsSync(blocked)).toBe(false)
    await c.turn(id, '[[hello]] third')
    await c.notified('warning', (p) => /stored again/.test(p.message))
    await servers[0]!.close()
    const d = await open()
    const resumed = await d.call('thread/resume', { threadId: id })
    expect(resumed.thread.turns.map((t: any) => t.items.map((i: any) => i.content?.[0].text ?? i.text))).toEqual(
      ['first', 'second', 'third'].map((word) => [`[[hello]] ${word}`, 'Hello there.']),
    )
  })
})

describe('configuration', () => {
  it('that is reloaded counts for loaded threads, under what their clients asked for', async () => {
    const other = await ScriptedModel.start({ hello: [[{ say: 'From the other.' }]] })
    try {
      const own = (
        await c.call('thread/start', { cwd: home, config: { 'model_providers.fake.base_url': model.baseUrl } })
      ).thread.id
      const edits = [{ keyPath: 'model_providers.fake.base_url', value: other.baseUrl, mergeStrategy: 'replace' }]
      await c.call('config/batchWrite', { edits })
      await c.turn(id, '[[hello]]')
      expect([model.requests.length, other.requests.length]).toEqual([1, 0])
      await c.call('config/batchWrite', { edits, reloadUserConfig: true })
      await c.turn(id, '[[hello]]')
      await c.turn(own, '[[hello]]')
      expect([model.requests.length, other.requests.length]).toEqual([2, 1])
    } finally {
      other.close()
    }
  })

  it('of MCP servers is taken over between requests, also by a thread that had none', async () => {
    await c.turn(id, '[[hello]]')
    expect((await c.call('mcpServerStatus/list', { threadId: id })).data).toEqual([])
    const script = join(import.meta.dirname, '../../testing/mini-mcp-server.mjs')
    writeFileSync(
      join(home, 'config.toml'),
      configText(
        `[mcp_servers.mini]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(script)}]\n`,
      ),
    )
    await c.call('config/mcpServer/reload')
    // The status waits for servers that start; a turn would not wait for ever.
    expect((await c.call('mcpServerStatus/list', { threadId: id })).data).toMatchObject([{ name: 'mini' }])
    const { messages } = await c.turn(id, '[[echo]]')
    const item = messages.find((m) => m.method === 'item/completed' && m.params.item.type === 'mcpToolCall')!.params
      .item
    expect(item).toMatchObject({ status: 'completed', result: { content: [{ text: 'echo: hi' }] } })
    writeFileSync(join(home, 'config.toml'), configText())
    await c.call('config/mcpServer/reload')
    await c.turn(id, '[[hello]]')
    expect(JSON.stringify(model.requests.at(-1)!.body.tools)).not.toContain('mcp__mini')
  })
})

it('a thread that nobody watches is let go after its delay, and not while it works or waits', async () => {
  const watcher = await memoryClient(servers[0]!).open()
  const short = (await c.call('thread/start', { cwd: home, config: { thread_unload_delay_secs: 0.01 } })).thread.id
  void c.turn(short, '[[ask]]').catch(() => undefined)
  const question = await c.asked('item/commandExecution/requestApproval')
  expect(await c.call('thread/unsubscribe', { threadId: short })).toEqual({ status: 'unsubscribed' })
  expect(await c.call('thread/unsubscribe', { threadId: short })).toEqual({ status: 'notSubscribed' })
  expect((await watcher.call('thread/loaded/list', {})).data).toContain(short)
  c.send({ id: question.id, result: { decision: 'decline' } })
  await watcher.notified('thread/closed', (p) => p.threadId === short)
  const seen = methods(watcher.seen.filter((m) => m.params?.threadId === short))
  expect(seen.slice(-2)).toEqual(['thread/status/changed', 'thread/closed'])
  expect(watcher.seen.findLast((m) => m.method === 'thread/status/changed')!.params.status).toEqual({
    type: 'notLoaded',
  })
  expect(await c.call('thread/unsubscribe', { threadId: short })).toEqual({ status: 'notLoaded' })
  expect((await c.call('thread/resume', { threadId: short })).thread.turns).toHaveLength(1)
})

describe('smaller questions', () => {
  it('plugins, skills and hooks are none, and nothing pretends to install one', async () => {
    expect(await c.call('plugin/list')).toEqual({ marketplaces: [], marketplaceLoadErrors: [], featuredPluginIds: [] })
    expect(await c.call('plugin/search', { searchTerm: 'x' })).toEqual({ data: [], nextCursor: null })
    expect((await c.call('skills/list', { cwds: [home] })).data).toEqual([{ cwd: home, skills: [], errors: [] }])
    expect((await c.call('hooks/list', { cwds: [home] })).data).toMatchObject([{ cwd: home, hooks: [] }])
    for (const method of ['plugin/install', 'marketplace/add', 'skills/config/write'])
      expect(await refused(method, {})).toContain(`${method}: plugins and skills are not run here`)
  })

  it('people who are asked elsewhere are counted', async () => {
    expect(await c.call('thread/increment_elicitation', { threadId: id })).toEqual({ count: 1, paused: true })
    expect(await c.call('thread/decrement_elicitation', { threadId: id })).toEqual({ count: 0, paused: false })
    expect(await refused('thread/decrement_elicitation', {})).toContain('nobody is being asked')
  })

  it('single items, summaries and providers are told', async () => {
    const { turn } = await c.turn(id, '[[hello]]')
    const all = (await c.call('thread/items/list', { threadId: id, sortDirection: 'asc' })).data
    const wanted = [all[1].item.id]
    expect((await c.call('thread/items/read', { threadId: id, turnId: turn.id, itemIds: wanted })).data).toEqual([
      all[1],
    ])
    expect(await refused('thread/items/read', { turnId: turn.id, itemIds: [] })).toContain('itemIds: expected 1 to 100')
    const { summary } = await c.call('getConversationSummary', { conversationId: id })
    expect(summary).toMatchObject({ conversationId: id, preview: '[[hello]]', cwd: home, source: 'vscode' })
    expect((await c.call('getConversationSummary', { rolloutPath: summary.path })).summary).toEqual(summary)
    expect(await c.call('modelProvider/list')).toMatchObject({
      defaultProviderId: 'fake',
      data: expect.arrayContaining([
        { id: 'fake', name: 'fake', canEdit: true, baseUrl: model.baseUrl, settings: { type: 'openai' } },
      ]),
    })
    expect(await refused('modelProvider/default/set', { providerId: 'nope' })).toContain('unknown provider "nope"')
    await c.call('modelProvider/default/set', { providerId: 'ollama' })
    expect((await c.call('modelProvider/list')).defaultProviderId).toBe('ollama')
    expect(await refused('account/login/start', { type: 'apiKey' })).toContain('no login is needed')
    expect(await refused('gitDiffToRemote', { cwd: home })).toContain('failed to compute git diff')
  })
})

it('only a denied assessment is approved; others are left alone with a warning', async () => {
  await c.turn(id, '[[hello]]')
  expect(await c.call('thread/approveGuardianDeniedAction', { threadId: id, event: { status: 'approved' } })).toEqual(
    {},
  )
  await c.notified('warning', (p) => p.message.includes('"approved"'))
  await c.call('thread/approveGuardianDeniedAction', {
    threadId: id,
    event: { status: 'denied', action: { kind: 'x' } },
  })
  await c.turn(id, '[[hello]]')
  expect(model.lastInput).toContain(String.raw`{\"action\":{\"kind\":\"x\"},\"outcome\":\"allowed\"}`)
})

it('the memory mode is kept with the thread', async () => {
  await c.turn(id, '[[hello]]')
  const { path } = (await c.call('thread/read', { threadId: id })).thread
  expect(await c.call('thread/memoryMode/set', { threadId: id, mode: 'disabled' })).toEqual({})
  expect(readFileSync(path, 'utf8')).toContain('"memoryMode":"disabled"')
})
