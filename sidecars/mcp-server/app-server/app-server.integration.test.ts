/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { commandConnector, ExecClient } from '../../exec-server/client/index.ts'
import { memoryPair } from '../../rpc/memory-transport.ts'
import { ScriptedModel } from '../../testing/scripted-model.ts'
import type { CommandRules } from '../engine/services.ts'
import { AppServer } from './app-server.ts'
import { HomeRules } from './home-rules.ts'
import { sandboxRootsOf } from './sandbox-policy.ts'

type Message = {
  id?: unknown
  method?: string
  params?: Record<string, any>
  result?: any
  error?: { code: number; message: string }
}

const escalated = (cmd: string) => ({
  call: 'exec_command',
  args: { cmd, sandbox_permissions: 'require_escalated', justification: 'may I?' },
})
let model: ScriptedModel
let exec: ExecClient
let home: string
let ws: string
let server: AppServer
let profile: string

beforeAll(async () => {
  model = await ScriptedModel.start({
    hello: [[{ think: 'hm' }, { say: 'Hello there, friend.' }, { usage: 500 }]],
    slow: [[{ say: 'one two three four five six', pieces: 6, gapMs: 150 }]],
    run: [[{ call: 'exec_command', args: { cmd: 'echo out; echo err >&2; exit 3' } }], [{ say: 'ran' }]],
    esc: [[escalated('echo x > made.txt; cat made.txt')], [{ say: 'done' }]],
    bg: [
      [{ call: 'exec_command', args: { cmd: 'echo started; sleep 300', yield_time_ms: 500 } }],
      [{ say: 'left running' }],
    ],
    patch: [
      [{ custom: 'apply_patch', input: '*** Begin Patch\n*** Add File: new.txt\n+hi\n*** End Patch' }],
      [{ say: 'patched' }],
    ],
    outside: [
      [{ custom: 'apply_patch', input: '*** Begin Patch\n*** Add File: ../outside.txt\n+hi\n*** End Patch' }],
      [{ say: 'tried' }],
    ],
    bad: [
      [
        { call: 'no_such_tool', args: {} },
        { call: 'exec_command', args: '{not json' },
      ],
      [{ say: 'bad' }],
    ],
    two: [
      [
        { call: 'exec_command', args: { cmd: 'sleep 1; echo A' } },
        { call: 'exec_command', args: { cmd: 'sleep 1; echo B' } },
      ],
      [{ say: 'both' }],
    ],
    hang: [[{ hang: true }]],
    dropped: (attempt) => (attempt === 1 ? [{ say: 'half' }, { drop: true }] : [{ say: 'recovered' }]),
    always: () => [{ drop: true }],
    s400: [[{ status: 400, body: { error: { message: 'bad thing' } } }]],
    dyn: [[{ call: 'lookup', args: { id: 7 } }], [{ say: 'looked up' }]],
    ask: [
      [
        {
          call: 'request_user_input',
          args: {
            questions: [{ id: 'q', header: 'Q', question: 'Which?', options: [{ label: 'A', description: 'a' }] }],
          },
        },
      ],
      [{ say: 'asked' }],
    ],
  })
  // Login shells read no profile of this machine's user, which may be slow or broken.
  profile = mkdtempSync(join(tmpdir(), 'gh-profile-'))
  exec = new ExecClient({
    connect: commandConnector({
      env: { PATH: process.env.PATH, HOME: profile },
      program: process.execPath,
      args: [resolve('out/sidecars/exec-server.cjs'), '--listen', 'stdio'],
    }),
  })
})
afterAll(async () => {
  await exec.close()
  model.close()
  rmSync(profile, { recursive: true, force: true })
})

const startServer = (rules: CommandRules = new HomeRules({ home })) =>
  new AppServer({
    home,
    exec: () => exec,
    rules,
    sandboxObject: () => null,
    sandboxRoots: sandboxRootsOf,
    shell: { path: '/bin/bash', name: 'bash' },
    log: () => undefined,
  })

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gh-app-'))
  ws = realpathSync(mkdtempSync(join(tmpdir(), 'gh-ws-')))
  mkdirSync(join(ws, 'w'))
  ws = join(ws, 'w')
  writeFileSync(
    join(home, 'config.toml'),
    `model = "gpt-5.5"\nmodel_provider = "fake"\n[model_providers.fake]\nbase_url = "${model.baseUrl}"\nstream_max_retries = 1\nrequest_max_retries = 0\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n`,
  )
  server = startServer()
})
afterEach(async () => {
  await server.close()
  rmSync(home, { recursive: true, force: true })
  rmSync(join(ws, '..'), { recursive: true, force: true })
})

class Client {
  readonly seen: Message[] = []
  /** Answers to the server's requests, by method. */
  readonly answers = new Map<string, (params: Record<string, any>) => unknown>()
  private readonly transport
  private nextId = 1

  constructor(target: AppServer) {
    const [mine, theirs] = memoryPair('app')
    this.transport = mine
    mine.start({
      onMessage: (text) => this.take(JSON.parse(text) as Message),
      onProblem: () => undefined,
      onClose: () => undefined,
    })
    target.serve(theirs)
  }
  private take(message: Message): void {
    this.seen.push(message)
    const answer = message.method && message.id !== undefined ? this.answers.get(message.method) : undefined
    if (answer) this.send({ id: message.id, result: answer(message.params!) })
  }
  send(message: object): void {
    this.transport.send(JSON.stringify(message))
  }
  close(): void {
    this.transport.close()
  }
  async call(method: string, params: object = {}): Promise<any> {
    const id = this.nextId++
    this.send({ id, method, params })
    const answer = await this.until((m) => m.id === id && m.method === undefined)
    if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
    return answer.result
  }
  async until(match: (message: Message) => boolean, from = 0): Promise<Message> {
    for (;;) {
      const found = this.seen.slice(from).find(match)
      if (found) return found
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  async open(capabilities: object = { experimentalApi: true }): Promise<this> {
    await this.call('initialize', { clientInfo: { name: 'test', title: null, version: '1' }, capabilities })
    this.send({ method: 'initialized' })
    return this
  }
  async thread(params: object = {}): Promise<string> {
    return (await this.call('thread/start', { cwd: ws, sandbox: 'workspace-write', ...params })).thread.id
  }
  /** Runs one turn to its end; gives its messages. */
  async turn(threadId: string, text: string, params: object = {}): Promise<{ turn: any; messages: Message[] }> {
    const from = this.seen.length
    const { turn } = await this.call('turn/start', { threadId, input: [{ type: 'text', text }], ...params })
    const done = await this.until((m) => m.method === 'turn/completed' && m.params!.turn.id === turn.id, from)
    return { turn: done.params!.turn, messages: this.seen.slice(from) }
  }
}
const client = () => new Client(server).open()
const items = (messages: Message[], method: string, type: string) =>
  messages.filter((m) => m.method === method && m.params!.item.type === type).map((m) => m.params!.item)
const lastOutput = () =>
  String(model.requests.at(-1)!.body.input.findLast((i) => String(i.type).endsWith('_output'))!.output)

describe('a text turn', () => {
  it('comes in the order that clients rely on', async () => {
    const c = await client()
    const id = await c.thread()
    const { turn, messages } = await c.turn(id, '[[hello]] hi', { clientUserMessageId: 'c1' })
    expect(
      messages
        .map((m) =>
          m.method?.startsWith('item/') ? `${m.method}:${m.params!.item?.type ?? ''}` : (m.method ?? 'answer'),
        )
        .filter((m, i, all) => m !== all[i - 1]),
    ).toEqual([
      'answer',
      'thread/status/changed',
      'turn/started',
      'item/started:userMessage',
      'item/completed:userMessage',
      'item/started:reasoning',
      'item/completed:reasoning',
      'item/started:agentMessage',
      'item/agentMessage/delta:',
      'item/completed:agentMessage',
      'thread/tokenUsage/updated',
      'thread/readState/changed',
      'thread/status/changed',
      'turn/completed',
    ])
    expect(turn).toMatchObject({ status: 'completed', items: [{ type: 'agentMessage', text: 'Hello there, friend.' }] })
    expect(
      messages
        .filter((m) => m.method === 'item/agentMessage/delta')
        .map((m) => m.params!.delta)
        .join(''),
    ).toBe('Hello there, friend.')
    expect(items(messages, 'item/started', 'userMessage')[0].clientId).toBe('c1')
  })

  it.each([
    ['a dropped stream is asked for again, once shown', 'dropped', 'completed', ['Reconnecting... 1/1']],
    [
      'a server that always drops fails the turn',
      'always',
      'failed',
      ['Reconnecting... 1/1', expect.stringContaining('disconnected') as string],
    ],
    ['a refusal fails the turn at once', 's400', 'failed', [expect.stringContaining('bad thing') as string]],
  ])('%s', async (_, script, status, errors) => {
    const c = await client()
    const id = await c.thread()
    const { turn, messages } = await c.turn(id, `[[${script}]]`)
    expect([turn.status, messages.filter((m) => m.method === 'error').map((m) => m.params!.error.message)]).toEqual([
      status,
      errors,
    ])
    expect((await c.turn(id, '[[hello]]')).turn.status).toBe('completed')
  })
})

describe('commands', () => {
  it('are shown, run and told to the model', async () => {
    const c = await client()
    const id = await c.thread()
    const { messages } = await c.turn(id, '[[run]]')
    expect(items(messages, 'item/completed', 'commandExecution')[0]).toMatchObject({
      status: 'failed',
      exitCode: 3,
      cwd: ws,
      source: 'unifiedExecStartup',
    })
    expect(lastOutput()).toMatch(
      /^Chunk ID: [0-9a-f]{6}\nWall time: [\d.]+ seconds\nProcess exited with code 3\nOriginal token count: \d+\nOutput:\n(out\nerr|err\nout)\n$/,
    )
  })

  it('that need a yes wait for it; a client error, nonsense and decline are no yes; cancel ends the turn', async () => {
    const c = await client()
    const id = await c.thread()
    for (const answer of [
      { error: { code: -1, message: 'x' } },
      { result: { decision: 'sure' } },
      { result: {} },
      { result: { decision: 'decline' } },
    ]) {
      const from = c.seen.length
      const turn = c.turn(id, '[[esc]]')
      const ask = await c.until((m) => m.method === 'item/commandExecution/requestApproval', from)
      expect(existsSync(join(ws, 'made.txt'))).toBe(false)
      c.send({ id: ask.id, ...answer })
      expect((await turn).turn.status).toBe('completed')
      expect(existsSync(join(ws, 'made.txt'))).toBe(false)
    }
    c.answers.set('item/commandExecution/requestApproval', () => ({ decision: 'cancel' }))
    expect((await c.turn(id, '[[esc]]')).turn.status).toBe('interrupted')
    c.answers.set('item/commandExecution/requestApproval', () => ({ decision: 'acceptForSession' }))
    const { messages } = await c.turn(id, '[[esc]]')
    expect(items(messages, 'item/completed', 'commandExecution')[0]).toMatchObject({
      status: 'completed',
      aggregatedOutput: 'x\n',
    })
    expect(model.lastInput).toContain('turn_aborted')
    c.answers.set('item/commandExecution/requestApproval', () => expect.unreachable() as unknown)
    await c.turn(id, '[[esc]]')
  })

  it('of one response run side by side and answer in order', async () => {
    const c = await client()
    const { messages } = await c.turn(await c.thread(), '[[two]]')
    const marks = messages.filter((m) => m.params?.item?.type === 'commandExecution').map((m) => m.method)
    expect(marks).toEqual(['item/started', 'item/started', 'item/completed', 'item/completed'])
    const outputs = model.requests
      .at(-1)!
      .body.input.filter((i) => i.type === 'function_call_output')
      .map((i) => String(i.output).slice(-2))
    expect(outputs).toEqual(['A\n', 'B\n'])
  })

  it('that go on become background terminals, outlive the turn and end on request', async () => {
    const c = await client()
    const id = await c.thread()
    const { messages } = await c.turn(id, '[[bg]]')
    expect(items(messages, 'item/completed', 'commandExecution')).toEqual([])
    const { data } = await c.call('thread/backgroundTerminals/list', { threadId: id })
    expect(data).toMatchObject([{ command: 'echo started; sleep 300', cwd: ws }])
    expect(
      await c.call('thread/backgroundTerminals/terminate', { threadId: id, processId: data[0].processId }),
    ).toEqual({ terminated: true })
    const ended = await c.until((m) => m.method === 'item/completed' && m.params!.item.id === data[0].itemId)
    expect(ended.params!.item).toMatchObject({ status: 'failed', exitCode: -1, aggregatedOutput: 'started\n' })
  })

  it('that cannot be understood are told to the model, and the turn goes on', async () => {
    const c = await client()
    await c.turn(await c.thread(), '[[bad]]')
    expect(model.lastInput).toContain('unsupported call: no_such_tool')
    expect(model.lastInput).toContain('failed to parse function arguments')
  })

  it('typed by the person run in a turn of their own and reach the model with the next one', async () => {
    const c = await client()
    const id = await c.thread()
    await c.call('thread/shellCommand', { threadId: id, command: 'echo mine; exit 2' })
    await c.until((m) => m.method === 'turn/completed')
    expect(items(c.seen, 'item/completed', 'commandExecution')[0]).toMatchObject({
      source: 'userShell',
      exitCode: 2,
      aggregatedOutput: 'mine\n',
    })
    await c.turn(id, '[[hello]]')
    expect(model.lastInput).toContain('user_shell_command')
  })
})

describe('patches', () => {
  it('inside the roots apply unasked, outside only after a yes', async () => {
    const c = await client()
    const id = await c.thread()
    const { messages } = await c.turn(id, '[[patch]]')
    expect(items(messages, 'item/completed', 'fileChange')[0]).toMatchObject({
      status: 'completed',
      changes: [{ path: join(ws, 'new.txt'), kind: { type: 'add' }, diff: 'hi\n' }],
    })
    expect(messages.find((m) => m.method === 'turn/diff/updated')!.params!.diff).toContain(
      '+++ b/new.txt\n@@ -0,0 +1,1 @@\n+hi\n',
    )
    c.answers.set('item/fileChange/requestApproval', () => ({ decision: 'decline' }))
    const declined = await c.turn(id, '[[outside]]')
    expect([
      items(declined.messages, 'item/completed', 'fileChange')[0].status,
      existsSync(join(ws, '..', 'outside.txt')),
    ]).toEqual(['declined', false])
    c.answers.set('item/fileChange/requestApproval', () => ({ decision: 'accept' }))
    await c.turn(id, '[[outside]]')
    expect(readFileSync(join(ws, '..', 'outside.txt'), 'utf8')).toBe('hi\n')
  })
})

describe('control of a turn', () => {
  it('steering drops the stream and asks again with the new words; starting is steering too', async () => {
    const c = await client()
    const id = await c.thread()
    const before = model.requests.length
    const running = c.turn(id, '[[slow]]')
    const first = await c.until((m) => m.method === 'item/agentMessage/delta')
    await expect(
      c.call('turn/steer', { threadId: id, input: [{ type: 'text', text: 'x' }], expectedTurnId: 'zzz' }),
    ).rejects.toThrow(/expected active turn id `zzz`/)
    await expect(
      c.call('turn/steer', { threadId: id, input: [], expectedTurnId: first.params!.turnId }),
    ).rejects.toThrow('input must not be empty')
    await c.call('turn/steer', {
      threadId: id,
      input: [{ type: 'text', text: 'rather [[hello]]' }],
      expectedTurnId: first.params!.turnId,
      clientUserMessageId: 's1',
    })
    const { messages } = await running
    expect(messages.filter((m) => m.method === 'turn/started').length).toBe(1)
    expect(items(messages, 'item/completed', 'userMessage').map((i) => i.clientId)).toEqual([null, 's1'])
    expect(items(messages, 'item/completed', 'agentMessage').map((i) => i.text)).toEqual(['Hello there, friend.'])
    expect([model.requests.length - before, model.lastInput.includes('one two')]).toEqual([2, false])
    await expect(
      c.call('turn/steer', {
        threadId: id,
        input: [{ type: 'text', text: 'x' }],
        expectedTurnId: first.params!.turnId,
      }),
    ).rejects.toThrow('no active turn to steer')
  })

  it('interrupting closes the model request and leaves a mark for the next one', async () => {
    const c = await client()
    const id = await c.thread()
    const running = c.turn(id, '[[hang]]')
    const started = await c.until((m) => m.method === 'turn/started')
    const hanging = await (async () => {
      for (;;) {
        const found = model.requests.find((r) => r.script === 'hang' && !r.closedByClient)
        if (found) return found
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    })()
    await expect(c.call('turn/interrupt', { threadId: id, turnId: 'bogus' })).rejects.toThrow(
      /expected active turn id bogus/,
    )
    expect(await c.call('turn/interrupt', { threadId: id, turnId: started.params!.turn.id })).toEqual({})
    expect((await running).turn).toMatchObject({ status: 'interrupted', items: [] })
    await c.turn(id, '[[hello]]')
    expect([hanging.closedByClient, model.lastInput.includes('turn_aborted')]).toEqual([true, true])
    await expect(c.call('turn/interrupt', { threadId: id, turnId: 'x' })).rejects.toThrow('no active turn to interrupt')
  })
})

describe('several clients', () => {
  it('a question goes to all, also to a joiner, under one id; the first answer wins', async () => {
    const a = await client()
    const b = await client()
    const id = await a.thread()
    const running = a.turn(id, '[[esc]]')
    const asked = await a.until((m) => m.method === 'item/commandExecution/requestApproval')
    const joined = await b.call('thread/resume', { threadId: id })
    expect(joined.thread.status).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] })
    const again = await b.until((m) => m.method === 'item/commandExecution/requestApproval')
    expect([again.id, again.params]).toEqual([asked.id, asked.params])
    b.send({ id: again.id, result: { decision: 'accept' } })
    a.send({ id: asked.id, result: { decision: 'cancel' } })
    expect((await running).turn.status).toBe('completed')
    for (const c of [a, b])
      expect(c.seen.filter((m) => m.method === 'serverRequest/resolved').map((m) => m.params!.requestId)).toEqual([
        asked.id,
      ])
  })

  it('the turn goes on when its client leaves, and another can take it up', async () => {
    const a = await client()
    const id = await a.thread()
    void a.turn(id, '[[esc]]').catch(() => undefined)
    await a.until((m) => m.method === 'item/commandExecution/requestApproval')
    a.close()
    const b = await client()
    b.answers.set('item/commandExecution/requestApproval', () => ({ decision: 'accept' }))
    await b.call('thread/resume', { threadId: id })
    expect((await b.until((m) => m.method === 'turn/completed')).params!.turn.status).toBe('completed')
  })

  it('opting out and the experimental gate hold for one connection only', async () => {
    const a = await new Client(server).open({
      experimentalApi: false,
      optOutNotificationMethods: ['item/agentMessage/delta'],
    })
    const b = await client()
    const id = await a.thread()
    await b.call('thread/resume', { threadId: id })
    await a.turn(id, '[[hello]]')
    await b.until((m) => m.method === 'turn/completed')
    expect([a, b].map((c) => c.seen.some((m) => m.method === 'item/agentMessage/delta'))).toEqual([false, true])
    await expect(a.call('thread/backgroundTerminals/list', { threadId: id })).rejects.toThrow(
      'requires experimentalApi capability',
    )
    expect((await b.call('thread/backgroundTerminals/list', { threadId: id })).data).toEqual([])
  })
})

describe('what is kept', () => {
  it('a restarted server lists, reads and goes on with a thread', async () => {
    const c = await client()
    const id = await c.thread({ approvalPolicy: 'untrusted' })
    c.answers.set('item/commandExecution/requestApproval', () => ({ decision: 'accept' }))
    await c.turn(id, '[[run]] first')
    await c.turn(id, '[[hello]] second')
    await c.call('thread/name/set', { threadId: id, name: 'my name' })
    await server.close()
    server = startServer()
    const d = await client()
    expect((await d.call('thread/list', {})).data).toMatchObject([
      { id, name: 'my name', preview: '[[run]] first', status: { type: 'notLoaded' } },
    ])
    await expect(d.call('turn/start', { threadId: id, input: [] })).rejects.toThrow(`thread not found: ${id}`)
    const resumed = await d.call('thread/resume', { threadId: id })
    expect([
      resumed.approvalPolicy,
      resumed.sandbox.type,
      resumed.thread.turns.map((t: any) => t.items.map((i: any) => i.type)),
    ]).toEqual([
      'untrusted',
      'workspaceWrite',
      [
        ['userMessage', 'commandExecution', 'agentMessage'],
        ['userMessage', 'reasoning', 'agentMessage'],
      ],
    ])
    await d.turn(id, '[[hello]] third')
    for (const words of ['first', 'second', 'Process exited with code 3']) expect(model.lastInput).toContain(words)
  })

  it('revert and fork cut history and pages alike; the files stay', async () => {
    const c = await client()
    const id = await c.thread()
    const ids: string[] = []
    for (const n of [0, 1, 2]) ids.push((await c.turn(id, `[[hello]] number ${n}`)).turn.id)
    const fork = (await c.call('thread/fork', { threadId: id, lastTurnId: ids[0], excludeTurns: true })).thread
    expect([
      fork.forkedFromId,
      (await c.call('thread/turns/list', { threadId: fork.id })).data.map((t: any) => t.id),
    ]).toEqual([id, [ids[0]]])
    await c.turn(fork.id, '[[hello]] in the fork')
    expect([model.lastInput.includes('number 0'), model.lastInput.includes('number 1')]).toEqual([true, false])
    await expect(c.call('thread/revert', { threadId: id, beforeTurnId: 'nope' })).rejects.toThrow(
      'turn not found: nope',
    )
    await c.call('thread/revert', { threadId: id, beforeTurnId: ids[1] })
    expect((await c.call('thread/turns/list', { threadId: id })).data.map((t: any) => t.id)).toEqual([ids[0]])
    await c.turn(id, '[[hello]] after')
    expect([model.lastInput.includes('number 0'), model.lastInput.includes('number 1')]).toEqual([true, false])
  })

  it('a turn cut off by a crash is shown interrupted and its lost call answered once', async () => {
    const c = await client()
    const id = await c.thread()
    await c.turn(id, '[[hello]]')
    const { path } = (await c.call('thread/read', { threadId: id })).thread
    await server.close()
    const line = (payload: object, type = 'event_msg') =>
      `${JSON.stringify({ timestamp: new Date().toISOString(), ordinal: 1000, type, payload })}\n`
    writeFileSync(
      path,
      line({ type: 'task_started', turn_id: 'T' }) +
        line({ type: 'function_call', call_id: 'lost', name: 'exec_command', arguments: '{}' }, 'response_item') +
        '{"timestamp":"2026',
      { flag: 'a' },
    )
    server = startServer()
    const d = await client()
    const resumed = await d.call('thread/resume', { threadId: id })
    expect(resumed.thread.turns.map((t: any) => t.status)).toEqual(['completed', 'interrupted'])
    await d.turn(id, '[[hello]] again')
    expect(
      model.requests
        .at(-1)!
        .body.input.filter((i) => i.call_id === 'lost')
        .map((i) => i.type),
    ).toEqual(['function_call', 'function_call_output'])
  })
})

it('a client brings tools along and answers questions in plan mode', async () => {
  const c = await client()
  const id = await c.thread({
    dynamicTools: [{ name: 'lookup', description: 'looks up', inputSchema: { type: 'object', properties: {} } }],
  })
  c.answers.set('item/tool/call', (params) => ({
    contentItems: [{ type: 'inputText', text: `found ${params.arguments.id}` }],
    success: true,
  }))
  const { messages } = await c.turn(id, '[[dyn]]')
  expect([items(messages, 'item/completed', 'dynamicToolCall')[0].status, lastOutput()]).toEqual([
    'completed',
    'found 7',
  ])
  await c.turn(id, '[[ask]]')
  expect(lastOutput()).toBe('request_user_input is unavailable in Default mode')
  c.answers.set('item/tool/requestUserInput', () => ({ answers: { q: { answers: ['A'] } } }))
  await c.turn(id, '[[ask]]', {
    collaborationMode: {
      mode: 'plan',
      settings: { model: 'gpt-5.5', reasoning_effort: null, developer_instructions: null },
    },
  })
  expect(lastOutput()).toBe('{"answers":{"q":{"answers":["A"]}}}')
})

it('queued input starts by itself, waits after an interruption, and is kept over a restart', async () => {
  const c = await client()
  const id = await c.thread()
  const running = c.turn(id, '[[hang]]')
  const started = await c.until((m) => m.method === 'turn/started')
  await c.call('thread/queue/add', {
    threadId: id,
    input: [{ type: 'text', text: '[[hello]] queued' }],
    clientUserMessageId: 'q1',
  })
  await c.call('turn/interrupt', { threadId: id, turnId: started.params!.turn.id })
  await running
  expect(await c.call('thread/queue/list', { threadId: id })).toMatchObject({
    paused: true,
    data: [{ clientUserMessageId: 'q1' }],
  })
  await server.close()
  server = startServer()
  const d = await client()
  await d.call('thread/resume', { threadId: id })
  const from = d.seen.length
  await d.turn(id, '[[hello]] mine')
  await d.until(
    (m) =>
      m.method === 'turn/completed' && d.seen.slice(from).filter((x) => x.method === 'turn/completed').length === 2,
    from,
  )
  expect(items(d.seen.slice(from), 'item/completed', 'userMessage').map((i) => i.content[0].text)).toEqual([
    '[[hello]] mine',
    '[[hello]] queued',
  ])
  expect((await d.call('thread/queue/list', { threadId: id })).data).toEqual([])
  await d.call('thread/goal/set', { threadId: id, objective: 'ship it', tokenBudget: null })
  expect((await d.call('thread/goal/get', { threadId: id })).goal).toMatchObject({
    objective: 'ship it',
    status: 'active',
  })
  expect((await d.call('thread/search', { searchTerm: 'HANG' })).data).toMatchObject([
    { thread: { id }, snippet: '[[hang]]' },
  ])
})

it('compacts on request: the next request has the hand-over instead of the old turns', async () => {
  const c = await client()
  const id = await c.thread()
  await c.turn(id, '[[hello]] long ago')
  const from = c.seen.length
  expect(await c.call('thread/compact/start', { threadId: id })).toEqual({})
  await c.until((m) => m.method === 'turn/completed', from)
  expect(items(c.seen.slice(from), 'item/completed', 'contextCompaction').length).toBe(1)
  await c.turn(id, '[[hello]] after')
  expect([model.lastInput.includes('hand-over'), model.lastInput.includes('"role":"assistant"')]).toEqual([true, false])
})

it.each([
  ['thread/list', { cursor: 'x' }, -32600, /cursor/],
  ['thread/read', {}, -32600, /missing field `threadId`/],
  ['no/such', {}, -32600, /unknown variant `no\/such`/],
  ['thread/start', { sandbox: 'open' }, -32600, /sandbox: expected one of read-only/],
  ['thread/start', { cwd: 7 }, -32600, /cwd/],
  ['turn/start', { threadId: 't', input: [{ type: 'smell' }] }, -32600, /input\[0\].type/],
  ['fs/readFile', { path: 'relative' }, -32600, /absolute/],
  ['command/exec', { command: [] }, -32600, /must not be empty/],
  ['config/value/write', { keyPath: 'a..b', value: 1 }, -32600, /keyPath/],
])('%s with %j is refused in words that name the field', async (method, params, code, words) => {
  const c = await client()
  await expect(c.call(method, params)).rejects.toMatchObject({ code, message: expect.stringMatching(words) as string })
})
