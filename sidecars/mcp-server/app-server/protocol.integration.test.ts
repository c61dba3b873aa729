/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */
/**
 * The app-server protocol as a client sees it, against real server processes: ours, and the Codex CLI's
 * own when GATEHOUSE_CODEX names it (`npm run interop:app-server`), so that both are held to the same.
 */
import { createHmac } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  AppServerClient,
  AppServerRefusal,
  socketCarrier,
  type AppServerMessage,
} from '../../testing/app-server-client.ts'
import {
  appServersUnderTest,
  startAppServer,
  transportsUnderTest,
  type AppServerTransport,
  type RunningAppServer,
} from '../../testing/app-server-process.ts'
import { placeOutsideOfTmp } from '../../testing/place-outside-of-tmp.ts'
import { ScriptedModel, type ModelStep } from '../../testing/scripted-model.ts'

let model: ScriptedModel
/** Not below /tmp: a sandbox that opens /tmp for writing would hide what it should stop. */
let scratch: string
let ws: string
let outside: string

const command = (cmd: string, more: object = {}): ModelStep => ({ call: 'exec_command', args: { cmd, ...more } })
const escalated = (cmd: string, more: object = {}) =>
  command(cmd, { sandbox_permissions: 'require_escalated', justification: 'May I?', ...more })
const typed = (outputs: string[], chars: string): ModelStep => ({
  call: 'write_stdin',
  args: { session_id: Number(/session ID (\d+)/.exec(outputs[0]!)?.[1]), chars, yield_time_ms: 1000 },
})
const mcp = (tool: string, args: object): ModelStep => ({ call: tool, args, namespace: 'mcp__mini' })
const patch = (...lines: string[]): ModelStep => ({
  custom: 'apply_patch',
  input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n'),
})

beforeAll(async () => {
  scratch = placeOutsideOfTmp('.gatehouse-test-')
  model = await ScriptedModel.start({
    hello: [[{ think: 'a greeting' }, { say: 'Hello there, friend.', pieces: 4 }]],
    run: [[command('sleep 0.3; echo one; sleep 0.2; echo two; exit 3')], [{ say: 'ran' }]],
    blocked: [[command(`sleep 0.1; echo x > ../outside/blocked.txt; echo after`)], [{ say: 'tried' }]],
    escape: [[escalated('sleep 0.3; echo out; echo x > ../outside/made.txt')], [{ say: 'done' }]],
    prefix: [[escalated('mkdir -p ../outside/one', { prefix_rule: ['mkdir', '-p'] })], [{ say: 'made' }]],
    again: [[escalated('mkdir -p ../outside/two', { prefix_rule: ['mkdir', '-p'] })], [{ say: 'made' }]],
    part: [[{ say: 'The part is done.' }]],
    agents: (_, outputs) => {
      const agent = (call: string, args: object): ModelStep[] => [{ call, args, namespace: 'multi_agent_v1' }]
      if (outputs.length === 0) return agent('spawn_agent', { message: '[[part]] please' })
      const { agent_id: target } = JSON.parse(outputs[0]!) as { agent_id: string }
      const steps = [
        agent('wait_agent', { targets: [target] }),
        agent('close_agent', { target }),
        agent('resume_agent', { id: target }),
        agent('wait_agent', { targets: [] }),
      ]
      return steps[outputs.length - 1] ?? [{ say: 'all done' }]
    },
    two: [[command('sleep 0.6; echo A'), command('sleep 0.6; echo B')], [{ say: 'both' }]],
    long: [[command('sleep 0.2; echo going; sleep 60', { yield_time_ms: 30_000 })], [{ say: 'not reached' }]],
    behind: [[command('sleep 0.2; echo started; sleep 300', { yield_time_ms: 500 })], [{ say: 'runs on' }]],
    stdin: (_, outputs) =>
      outputs.length === 0
        ? [command('cat', { tty: true, yield_time_ms: 500 })]
        : outputs.length === 1
          ? [typed(outputs, 'typed\n')]
          : outputs.length === 2
            ? [typed(outputs, '\u0004')]
            : [{ say: 'done' }],
    many: [[command('seq 1 40000', { max_output_tokens: 500 })], [{ say: 'a lot' }]],
    bad: [
      [
        { call: 'no_such_tool', args: {} },
        { call: 'exec_command', args: '{not json' },
        { call: 'write_stdin', args: { session_id: 424_242, chars: 'x' } },
      ],
      [{ say: 'bad' }],
    ],
    add: [[patch('*** Add File: added.txt', '+hello', '+world')], [{ say: 'added' }]],
    change: [[patch('*** Update File: added.txt', '@@', '-hello', '+HELLO')], [{ say: 'changed' }]],
    wrong: [[patch('*** Update File: added.txt', '@@', '-not there', '+yes')], [{ say: 'wrong' }]],
    out: [[patch('*** Add File: ../outside/out.txt', '+outside')], [{ say: 'outside' }]],
    slow: [[{ say: 'one two three four five six seven eight', pieces: 8, gapMs: 150 }]],
    // Longer than anybody listens to it.
    speech: [[{ say: 'one two three four five six seven eight '.repeat(10), pieces: 200, gapMs: 300 }]],
    hang: [[{ hang: true }]],
    ask: [
      [
        {
          call: 'request_user_input',
          args: {
            questions: [
              {
                id: 'c',
                header: 'C',
                question: 'Which?',
                options: [
                  { label: 'Red', description: 'r' },
                  { label: 'Blue', description: 'b' },
                ],
              },
            ],
          },
        },
      ],
      [{ say: 'asked' }],
    ],
    lookup: [[{ call: 'lookup', args: { id: 'T-1' } }], [{ say: 'looked up' }]],
    echo: [[mcp('echo', { text: 'hi' })], [{ say: 'echoed' }]],
    store: [[mcp('store', { text: 'hi' })], [{ say: 'stored' }]],
    form: [[mcp('ask', {})], [{ say: 'filled' }]],
    http500: (attempt) =>
      attempt === 1 ? [{ status: 500, body: { error: { message: 'boom' } } }] : [{ say: 'recovered' }],
    http400: [[{ status: 400, body: { error: { message: 'bad thing', type: 'invalid_request_error' } } }]],
    http401: [[{ status: 401, body: { error: { message: 'who are you' } } }]],
    http429: [
      [
        {
          status: 429,
          body: { error: { type: 'usage_limit_reached', message: 'limit', plan_type: 'plus', resets_in_seconds: 60 } },
        },
      ],
    ],
    dropped: (attempt) => (attempt === 1 ? [{ say: 'half' }, { drop: true }] : [{ say: 'recovered' }]),
    idle: (attempt) => (attempt === 1 ? [{ hang: true }] : [{ say: 'recovered' }]),
    limited: (attempt) =>
      attempt === 1 ? [{ fail: 'rate_limit_exceeded', message: 'Please try again in 20ms.' }] : [{ say: 'recovered' }],
    full: [[{ fail: 'context_length_exceeded', message: 'too long' }]],
    review: [
      [
        {
          say: '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"Looks fine.","overall_confidence_score":0.9}',
        },
      ],
    ],
  })
})
afterAll(() => {
  model.close()
  rmSync(scratch, { recursive: true, force: true })
})

const config = () => ({
  model_provider: 'fake',
  'model_providers.fake': {
    name: 'fake',
    base_url: model.baseUrl,
    wire_api: 'responses',
    stream_max_retries: 1,
    request_max_retries: 1,
    stream_idle_timeout_ms: 1500,
  },
})

/** A folder to work in, and one beside it that no sandbox opens. */
function workplace(): void {
  const folder = mkdtempSync(join(scratch, 'w-'))
  ws = join(folder, 'ws')
  outside = join(folder, 'outside')
  for (const made of [ws, outside]) mkdirSync(made)
}

function place(): { env: NodeJS.ProcessEnv; cwd: string; socketPath: string; home: string } {
  const folder = mkdtempSync(join(scratch, 'p-'))
  const home = join(folder, 'home')
  mkdirSync(home)
  workplace()
  const mini = { command: process.execPath, args: [join(import.meta.dirname, '../../testing/mini-mcp-server.mjs')] }
  const text = (table: object) =>
    Object.entries(table)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
      .join('\n')
  writeFileSync(
    join(home, 'config.toml'),
    [
      'model = "gpt-5.5"',
      'model_provider = "fake"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[features]',
      'plugins = false',
      'apps = false',
      '[model_providers.fake]',
      text(config()['model_providers.fake']),
      '[mcp_servers.mini]',
      text(mini),
      '',
    ].join('\n'),
  )
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, TMPDIR: '/tmp', RUST_LOG: 'off', NO_PROXY: '*' }
  return { env, cwd: ws, socketPath: join(home, 's.sock'), home }
}

const items = (messages: AppServerMessage[], method: 'item/started' | 'item/completed', type: string) =>
  messages.filter((m) => m.method === method && m.params.item.type === type).map((m) => m.params.item)
const said = (messages: AppServerMessage[], method: string) =>
  messages.filter((m) => m.method === method).map((m) => m.params)
/** The kinds of `messages` that `wanted` names, in the order they came. */
const order = (messages: AppServerMessage[], ...wanted: ((m: AppServerMessage) => boolean)[]) => {
  let at = 0
  for (const message of messages) if (at < wanted.length && wanted[at]!(message)) at++
  return at === wanted.length
}
const is = (method: string) => (m: AppServerMessage) => m.method === method
const itemIs = (method: string, type: string) => (m: AppServerMessage) =>
  m.method === method && m.params.item.type === type
const status = (type: string, flag?: string) => (m: AppServerMessage) =>
  m.method === 'thread/status/changed' &&
  m.params.status.type === type &&
  (flag === undefined ||
    (flag === '' ? m.params.status.activeFlags.length === 0 : m.params.status.activeFlags.includes(flag)))
/** What the model was told by the tools of the newest turn with a script. */
const told = (script: string): string[] => {
  const { input } = model.requests.filter((r) => r.script === script).at(-1)!.body
  const from = input.findLastIndex((i) => i.role === 'user' && JSON.stringify(i.content).includes(`[[${script}]]`))
  return input
    .slice(from)
    .filter((i) => String(i.type).endsWith('_output'))
    .map((i) => JSON.stringify(i.output))
}
const refusal = (work: Promise<unknown>): Promise<AppServerRefusal> =>
  work.then(
    () => expect.unreachable('it was not refused'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(AppServerRefusal)
      return error as AppServerRefusal
    },
  ) as Promise<AppServerRefusal>

const subjects = appServersUnderTest().flatMap((program) =>
  transportsUnderTest().map((transport) => [program.name, transport, program] as const),
)

describe.each(subjects)('%s over %s', (_, transport, program) => {
  let server: RunningAppServer
  let where: ReturnType<typeof place>
  let c: AppServerClient
  const start = async (params: object = {}): Promise<string> =>
    (
      await c.call('thread/start', {
        cwd: ws,
        model: 'gpt-5.5',
        approvalPolicy: 'on-request',
        sandbox: 'workspace-write',
        config: config(),
        ...params,
      })
    ).thread.id
  const listThreads = () =>
    c.call('thread/list', { modelProviders: [], limit: 20, sourceKinds: ['vscode', 'cli', 'appServer', 'exec'] })

  beforeAll(async () => {
    where = place()
    server = await startAppServer(program, transport, where)
    c = await (await server.connect()).open()
  })
  beforeEach(() => {
    workplace()
    model.forgetAttempts()
    c.answers.clear()
  })
  afterAll(async () => {
    c.close()
    await server.stop()
  })
  const restart = async (name: NodeJS.Signals | null = null) => {
    if (name) server.signal(name)
    else c.close()
    await server.stop()
    server = await startAppServer(program, transport, where)
    c = await (await server.connect()).open()
  }

  it('shakes hands, refuses what does not fit and survives nonsense', async () => {
    const raw = await server.connect()
    expect(await refusal(raw.call('thread/list'))).toMatchObject({
      code: -32600,
      message: expect.stringMatching(/not initialized/i) as string,
    })
    const hello = { clientInfo: { name: 'x', title: null, version: '0' }, capabilities: { experimentalApi: false } }
    const result = await raw.call('initialize', hello)
    for (const key of ['userAgent', 'codexHome', 'platformFamily', 'platformOs'])
      expect(result[key]).toBeTypeOf('string')
    raw.send({ method: 'initialized' })
    expect(await refusal(raw.call('initialize', hello))).toMatchObject({
      code: -32600,
      message: expect.stringMatching(/already initialized/i) as string,
    })
    expect([-32600, -32601]).toContain((await refusal(raw.call('no/suchMethod'))).code)
    expect((await refusal(raw.call('thread/read', { nope: 1 }))).code).toBe(-32600)
    expect((await refusal(raw.call('thread/backgroundTerminals/list', { threadId: 'x' }))).message).toContain(
      'experimentalApi',
    )
    await refusal(raw.call('thread/read', { threadId: '00000000-0000-7000-8000-000000000000' }))
    raw.sendText('{this is not json')
    expect((await raw.call('thread/loaded/list', {}, 'a-text-id')).data).toEqual([])
    raw.send({ jsonrpc: '2.0', id: 777, method: 'thread/loaded/list', params: {} })
    expect(Object.keys(await raw.until((m) => m.id === 777)).sort()).toEqual(['id', 'result'])
    raw.close()
  })

  it('runs a text turn in the order that clients rely on, and keeps opt-outs', async () => {
    const id = await start()
    await c.notified('thread/started', (p) => p.thread.id === id)
    const { turn, messages } = await c.turn(id, '[[hello]]', { clientUserMessageId: 'c1' })
    expect(
      order(
        messages,
        (m) => m.result?.turn?.status === 'inProgress',
        status('active'),
        is('turn/started'),
        itemIs('item/completed', 'userMessage'),
        itemIs('item/completed', 'reasoning'),
        itemIs('item/started', 'agentMessage'),
        is('item/agentMessage/delta'),
        itemIs('item/completed', 'agentMessage'),
        status('idle'),
        is('turn/completed'),
      ),
    ).toBe(true)
    expect(
      said(messages, 'item/agentMessage/delta')
        .map((p) => p.delta)
        .join(''),
    ).toBe('Hello there, friend.')
    expect([
      turn.status,
      turn.items.map((i: any) => i.type),
      items(messages, 'item/started', 'userMessage')[0].clientId,
    ]).toEqual(['completed', ['agentMessage'], 'c1'])
    expect(order(messages, is('thread/tokenUsage/updated'), is('turn/completed'))).toBe(true)
    expect(messages.every((m) => m.id !== undefined || typeof (m as any).emittedAtMs === 'number')).toBe(true)
    expect(model.requests.at(-1)!.body).toMatchObject({ stream: true, store: false, prompt_cache_key: id })
    const quiet = await (
      await server.connect()
    ).open({ experimentalApi: true, optOutNotificationMethods: ['item/agentMessage/delta', 'none/such'] })
    const other = (await quiet.call('thread/start', { cwd: ws, config: config() })).thread.id
    const { messages: heard } = await quiet.turn(other, '[[hello]]')
    expect([
      said(heard, 'item/agentMessage/delta').length,
      items(heard, 'item/completed', 'agentMessage').length,
    ]).toEqual([0, 1])
    quiet.close()
  })

  it('runs commands: output, exit code, sandbox, two at once, cut output, calls that cannot be', async () => {
    const id = await start()
    const ran = await c.turn(id, '[[run]]')
    const [item] = items(ran.messages, 'item/completed', 'commandExecution')
    expect(item).toMatchObject({ status: 'failed', exitCode: 3, aggregatedOutput: 'one\ntwo\n' })
    const deltas = said(ran.messages, 'item/commandExecution/outputDelta')
      .map((p) => p.delta)
      .join('')
    expect(item.aggregatedOutput.endsWith(deltas) && deltas.includes('two')).toBe(true)
    expect(told('run')[0]).toMatch(/Wall time: [\d.]+ seconds\\nProcess exited with code 3\\n.*Output:\\none\\ntwo\\n/)
    await c.turn(id, '[[blocked]]')
    expect(existsSync(join(outside, 'blocked.txt'))).toBe(false)
    const { messages } = await c.turn(id, '[[two]]')
    const marks = messages.filter((m) => m.params?.item?.type === 'commandExecution').map((m) => m.method)
    expect(marks).toEqual(['item/started', 'item/started', 'item/completed', 'item/completed'])
    expect(told('two').map((o) => /[AB](?=\\n"$)/.exec(o)?.[0])).toEqual(['A', 'B'])
    await c.turn(id, '[[many]]')
    expect(told('many').at(-1)).toMatch(/truncated/)
    await c.turn(id, '[[bad]]')
    const answers = told('bad').join('\n')
    for (const words of [
      'unsupported call: no_such_tool',
      'failed to parse function arguments',
      'Unknown process id 424242',
    ])
      expect(answers).toContain(words)
  })

  it('asks before it leaves the sandbox; accept, decline, cancel and an error mean what they say', async () => {
    const id = await start()
    let from = c.seen.length
    let running = c.turn(id, '[[escape]]')
    let asked = await c.asked('item/commandExecution/requestApproval', from)
    expect(asked.params).toMatchObject({
      threadId: id,
      reason: 'May I?',
      command: expect.stringContaining('echo out') as string,
    })
    expect(asked.params.availableDecisions[0]).toBe('accept')
    expect(
      order(
        c.seen.slice(from),
        status('active', 'waitingOnApproval'),
        itemIs('item/started', 'commandExecution'),
        is('item/commandExecution/requestApproval'),
      ),
    ).toBe(true)
    expect(existsSync(join(outside, 'made.txt'))).toBe(false)
    c.send({ id: asked.id, result: { decision: 'accept' } })
    let { messages, turn } = await running
    expect(
      order(
        messages,
        is('serverRequest/resolved'),
        status('active', ''),
        itemIs('item/completed', 'commandExecution'),
        is('turn/completed'),
      ),
    ).toBe(true)
    expect([
      items(messages, 'item/completed', 'commandExecution')[0].status,
      existsSync(join(outside, 'made.txt')),
    ]).toEqual(['completed', true])
    for (const [answer, itemStatus, turnStatus] of [
      [{ result: { decision: 'decline' } }, 'declined', 'completed'],
      [{ error: { code: -1, message: 'x' } }, 'failed', 'completed'],
      [{ result: { decision: 'cancel' } }, 'declined', 'interrupted'],
    ] as const) {
      from = c.seen.length
      running = c.turn(id, '[[escape]]')
      asked = await c.asked('item/commandExecution/requestApproval', from)
      c.send({ id: asked.id, ...answer })
      ;({ messages, turn } = await running)
      expect([items(messages, 'item/completed', 'commandExecution')[0].status, turn.status]).toEqual([
        itemStatus,
        turnStatus,
      ])
    }
    await c.turn(id, '[[hello]]')
    expect(model.lastInput).toMatch(/turn_aborted/)
  })

  it('keeps a rule that was accepted with a command, and what was accepted for the session', async () => {
    const id = await start()
    const from = c.seen.length
    const running = c.turn(id, '[[prefix]]')
    const asked = await c.asked('item/commandExecution/requestApproval', from)
    expect(asked.params.proposedExecpolicyAmendment).toEqual(['mkdir', '-p'])
    c.send({
      id: asked.id,
      result: { decision: { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['mkdir', '-p'] } } },
    })
    await running
    await c.turn(id, '[[again]]')
    expect(existsSync(join(outside, 'two'))).toBe(true)
    expect(readFileSync(join(where.home, 'rules', 'default.rules'), 'utf8')).toMatch(
      /prefix_rule\(pattern=\["mkdir", "-p"\], decision="allow"\)/,
    )
    c.answers.set('item/commandExecution/requestApproval', () => ({ decision: 'acceptForSession' }))
    await c.turn(id, '[[escape]]')
    c.answers.delete('item/commandExecution/requestApproval')
    expect((await c.turn(id, '[[escape]]')).turn.status).toBe('completed')
  })

  it('patches inside the roots unasked, outside only after a yes, and never what does not fit', async () => {
    const id = await start()
    const added = await c.turn(id, '[[add]]')
    expect(items(added.messages, 'item/completed', 'fileChange')[0]).toMatchObject({
      status: 'completed',
      changes: [{ path: join(ws, 'added.txt'), kind: { type: 'add' }, diff: 'hello\nworld\n' }],
    })
    expect(said(added.messages, 'turn/diff/updated')[0].diff).toContain('+hello')
    const changed = await c.turn(id, '[[change]]')
    expect(items(changed.messages, 'item/completed', 'fileChange')[0].changes[0].diff).toMatch(/-hello\n\+HELLO/)
    expect(readFileSync(join(ws, 'added.txt'), 'utf8')).toBe('HELLO\nworld\n')
    const wrong = await c.turn(id, '[[wrong]]')
    expect([items(wrong.messages, 'item/started', 'fileChange'), told('wrong').at(-1)]).toEqual([
      [],
      expect.stringContaining('apply_patch verification failed') as string,
    ])
    c.answers.set('item/fileChange/requestApproval', () => ({ decision: 'decline' }))
    const declined = await c.turn(id, '[[out]]')
    expect([
      items(declined.messages, 'item/completed', 'fileChange')[0].status,
      declined.turn.status,
      existsSync(join(outside, 'out.txt')),
    ]).toEqual(['declined', 'completed', false])
    c.answers.set('item/fileChange/requestApproval', () => ({ decision: 'acceptForSession' }))
    await c.turn(id, '[[out]]')
    expect(readFileSync(join(outside, 'out.txt'), 'utf8')).toBe('outside\n')
    c.answers.delete('item/fileChange/requestApproval')
    rmSync(join(outside, 'out.txt'))
    await c.turn(id, '[[out]]')
    expect(existsSync(join(outside, 'out.txt'))).toBe(true)
  })

  it('interrupts: a command runs on as a terminal, a model request is closed, wrong turns are refused', async () => {
    const id = await start()
    let from = c.seen.length
    let running = c.turn(id, '[[long]]')
    const { params } = await c.notified('item/commandExecution/outputDelta', () => true, from)
    await refusal(c.call('turn/interrupt', { threadId: id, turnId: 'bogus' }))
    expect(await c.call('turn/interrupt', { threadId: id, turnId: params.turnId })).toEqual({})
    expect((await running).turn).toMatchObject({ status: 'interrupted', items: [] })
    expect((await c.call('thread/backgroundTerminals/list', { threadId: id })).data).toHaveLength(1)
    await refusal(c.call('turn/interrupt', { threadId: id, turnId: params.turnId }))
    await c.call('thread/backgroundTerminals/clean', { threadId: id })
    await c.notified('item/completed', (p) => p.item.id === params.itemId)
    from = c.seen.length
    const asked = model.requests.length
    running = c.turn(id, '[[hang]]')
    const started = await c.notified('turn/started', () => true, from)
    await expect.poll(() => model.requests.length).toBeGreaterThan(asked)
    await c.call('turn/interrupt', { threadId: id, turnId: started.params.turn.id })
    expect((await running).turn.status).toBe('interrupted')
    await expect.poll(() => model.requests[asked]!.closedByClient).toBe(true)
  })

  it('steers the running turn, whether by turn/steer or turn/start', async () => {
    const id = await start()
    const from = c.seen.length
    const before = model.requests.length
    const running = c.turn(id, '[[speech]]')
    const { turnId } = (await c.notified('item/agentMessage/delta', () => true, from)).params
    const input = [{ type: 'text', text: 'rather [[speech]]' }]
    expect((await refusal(c.call('turn/steer', { threadId: id, input, expectedTurnId: 'zzz' }))).code).toBe(-32600)
    expect(
      await c.call('turn/steer', { threadId: id, input, expectedTurnId: turnId, clientUserMessageId: 's1' }),
    ).toMatchObject({ turnId })
    await refusal(c.call('turn/steer', { threadId: id, input: [], expectedTurnId: turnId }))
    const last = [{ type: 'text', text: 'no, [[hello]]' }]
    expect((await c.call('turn/start', { threadId: id, input: last })).turn.id).toBe(turnId)
    const { messages, turn } = await running
    expect([turn.status, said(messages, 'turn/started').length]).toEqual(['completed', 1])
    expect(items(messages, 'item/completed', 'userMessage').map((i) => i.clientId)).toContain('s1')
    expect([
      model.requests.length > before + 1,
      model.lastInput.includes('rather'),
      model.lastInput.includes('one two'),
    ]).toEqual([true, true, false])
    expect((await refusal(c.call('turn/steer', { threadId: id, input, expectedTurnId: turnId }))).code).toBe(-32600)
  })

  it('leaves commands running behind the turn, lists, ends and types into them', async () => {
    const id = await start()
    const { messages } = await c.turn(id, '[[behind]]')
    const [item] = items(messages, 'item/started', 'commandExecution')
    expect([items(messages, 'item/completed', 'commandExecution'), told('behind').at(-1)]).toEqual([
      [],
      expect.stringMatching(/running with session ID \d+/) as string,
    ])
    const { data } = await c.call('thread/backgroundTerminals/list', { threadId: id })
    expect(data).toMatchObject([{ itemId: item.id, processId: item.processId, cwd: ws }])
    expect(
      await c.call('thread/backgroundTerminals/terminate', { threadId: id, processId: data[0].processId }),
    ).toEqual({ terminated: true })
    await c.notified(
      'item/completed',
      (p) => p.item.id === item.id && p.item.status === 'failed' && p.item.exitCode === -1,
    )
    const typing = await c.turn(id, '[[stdin]]')
    expect(said(typing.messages, 'item/commandExecution/terminalInteraction').map((p) => p.stdin)).toContain('typed\n')
    expect(told('stdin').join()).toContain('typed')
  })

  it('runs what the person types, alone, beside a turn, and no longer than it may', async () => {
    const id = await start()
    let from = c.seen.length
    expect(
      await c.call('thread/shellCommand', {
        threadId: id,
        command: 'echo typed; echo y > ../outside/user.txt; exit 2',
      }),
    ).toEqual({})
    await c.notified('turn/completed', () => true, from)
    expect(items(c.seen.slice(from), 'item/completed', 'commandExecution')).toMatchObject([
      { source: 'userShell', exitCode: 2, status: 'failed' },
    ])
    expect(existsSync(join(outside, 'user.txt'))).toBe(true)
    from = c.seen.length
    const running = c.turn(id, '[[slow]]')
    await c.notified('item/agentMessage/delta', () => true, from)
    await c.call('thread/shellCommand', { threadId: id, command: 'echo beside' })
    const { messages } = await running
    expect([
      said(messages, 'turn/started').length,
      items(messages, 'item/completed', 'commandExecution').map((i) => i.source),
    ]).toEqual([1, ['userShell']])
    expect(model.lastInput).toContain('user_shell_command')
    from = c.seen.length
    await c.call('thread/shellCommand', { threadId: id, command: 'sleep 20', timeoutMs: 300 })
    await c.notified('turn/completed', () => true, from)
    expect(items(c.seen.slice(from), 'item/completed', 'commandExecution')).toMatchObject([
      { status: 'failed', exitCode: -1 },
    ])
    await refusal(c.call('thread/shellCommand', { threadId: id, command: '  ' }))
  })

  it('keeps threads: reads, pages, names, resumes after a restart', async () => {
    const id = await start()
    const ids: string[] = []
    for (const text of ['[[hello]] first', '[[run]] second', '[[hello]] third'])
      ids.push((await c.turn(id, text)).turn.id)
    expect((await c.call('thread/read', { threadId: id })).thread).toMatchObject({
      turns: [],
      preview: '[[hello]] first',
    })
    const whole = (await c.call('thread/read', { threadId: id, includeTurns: true })).thread.turns
    expect(whole.map((t: any) => [t.id, t.status])).toEqual(ids.map((turnId) => [turnId, 'completed']))
    const page = await c.call('thread/turns/list', { threadId: id, limit: 2 })
    const rest = await c.call('thread/turns/list', { threadId: id, limit: 2, cursor: page.nextCursor })
    expect([...page.data, ...rest.data].map((t: any) => t.id)).toEqual([...ids].reverse())
    expect(rest.nextCursor).toBeNull()
    const all = (await c.call('thread/items/list', { threadId: id, sortDirection: 'asc', limit: 100 })).data
    expect(new Set(all.map((entry: any) => entry.turnId))).toEqual(new Set(ids))
    await c.call('thread/name/set', { threadId: id, name: 'my name' })
    await c.notified('thread/name/updated', (p) => p.threadName === 'my name')
    expect((await c.call('thread/loaded/list', {})).data).toContain(id)
    await restart()
    expect((await listThreads()).data.find((t: any) => t.id === id)).toMatchObject({
      name: 'my name',
      preview: '[[hello]] first',
      status: { type: 'notLoaded' },
    })
    await refusal(c.call('turn/start', { threadId: id, input: [{ type: 'text', text: 'x' }] }))
    const resumed = await c.call('thread/resume', { threadId: id, config: config() })
    expect([resumed.thread.turns.length, resumed.thread.status.type, resumed.approvalPolicy, resumed.cwd]).toEqual([
      3,
      'idle',
      'on-request',
      ws,
    ])
    expect(resumed.thread.turns[1].items.find((i: any) => i.type === 'commandExecution')).toMatchObject({
      exitCode: 3,
      aggregatedOutput: 'one\ntwo\n',
    })
    await c.turn(id, '[[hello]] fourth')
    for (const words of ['first', 'second', 'third', 'exited with code 3']) expect(model.lastInput).toContain(words)
    expect((await c.call('thread/resume', { threadId: id, excludeTurns: true })).thread.turns).toEqual([])
  })

  it('survives a crash in the middle of a turn and a torn last line', async () => {
    const id = await start()
    await c.turn(id, '[[hello]] first')
    const from = c.seen.length
    void c.turn(id, '[[long]] second').catch(() => undefined)
    await c.notified('item/commandExecution/outputDelta', () => true, from)
    const { path } = (await c.call('thread/read', { threadId: id })).thread
    server.signal('SIGKILL')
    await server.ended()
    writeFileSync(path, '{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_m', { flag: 'a' })
    await restart()
    const resumed = await c.call('thread/resume', { threadId: id, config: config() })
    expect(resumed.thread.turns.map((t: any) => t.status)).toEqual(['completed', 'interrupted'])
    expect((await c.turn(id, '[[hello]] third')).turn.status).toBe('completed')
    const input = model.requests.at(-1)!.body.input
    const calls = input.filter((i) => i.type === 'function_call').map((i) => i.call_id)
    expect(input.filter((i) => i.type === 'function_call_output').map((i) => i.call_id)).toEqual(calls)
  })

  it('reverts, forks, archives and brings back', async () => {
    const id = await start()
    const ids: string[] = []
    for (const n of [0, 1, 2]) ids.push((await c.turn(id, `[[hello]] number ${n}`)).turn.id)
    const fork = (
      await c.call('thread/fork', { threadId: id, lastTurnId: ids[0], excludeTurns: true, config: config() })
    ).thread
    expect([
      fork.forkedFromId,
      (await c.call('thread/turns/list', { threadId: fork.id })).data.map((t: any) => t.id),
    ]).toEqual([id, [ids[0]]])
    await refusal(c.call('thread/revert', { threadId: id, beforeTurnId: 'nope' }))
    const reverted = await c.call('thread/revert', { threadId: id, beforeTurnId: ids[1] })
    expect(reverted.thread).toMatchObject({ id, turns: [] })
    await c.notified('thread/reverted', (p) => p.threadId === id)
    expect((await c.call('thread/turns/list', { threadId: id })).data.map((t: any) => t.id)).toEqual([ids[0]])
    await c.turn(id, '[[hello]] after')
    expect(['number 0', 'number 1', 'number 2'].map((words) => model.lastInput.includes(words))).toEqual([
      true,
      false,
      false,
    ])
    await c.call('thread/archive', { threadId: id })
    await c.notified('thread/archived', (p) => p.threadId === id)
    expect((await listThreads()).data.map((t: any) => t.id)).not.toContain(id)
    await c.call('thread/unarchive', { threadId: id })
    expect((await listThreads()).data.map((t: any) => t.id)).toContain(id)
  })

  it('changes settings, for good with a turn, and asks for everything when told so', async () => {
    const id = await start()
    let from = c.seen.length
    expect(await c.call('thread/settings/update', { threadId: id, approvalPolicy: 'never' })).toEqual({})
    expect((await c.notified('thread/settings/updated', () => true, from)).params.threadSettings).toMatchObject({
      approvalPolicy: 'never',
      sandboxPolicy: { type: 'workspaceWrite' },
    })
    from = c.seen.length
    await c.turn(id, '[[hello]]', { approvalPolicy: 'untrusted' })
    await c.notified('thread/settings/updated', (p) => p.threadSettings.approvalPolicy === 'untrusted', from)
    from = c.seen.length
    c.answers.set('item/commandExecution/requestApproval', () => ({ decision: 'accept' }))
    await c.turn(id, '[[run]]')
    await c.asked('item/commandExecution/requestApproval', from)
  })

  it('asks questions in plan mode, and lets a client bring tools', async () => {
    const id = await start({
      dynamicTools: [
        {
          type: 'function',
          name: 'lookup',
          description: 'looks up',
          inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
        },
      ],
    })
    c.answers.set('item/tool/call', (p) => ({
      contentItems: [{ type: 'inputText', text: `found ${p.arguments.id}` }],
      success: true,
    }))
    const looked = await c.turn(id, '[[lookup]]')
    expect([items(looked.messages, 'item/completed', 'dynamicToolCall')[0].status, told('lookup').at(-1)]).toEqual([
      'completed',
      expect.stringContaining('found T-1') as string,
    ])
    await c.turn(id, '[[ask]]')
    expect(told('ask').at(-1)).toContain('unavailable in Default mode')
    c.answers.set('item/tool/requestUserInput', () => ({ answers: { c: { answers: ['Blue'] } } }))
    const { messages } = await c.turn(id, '[[ask]]', {
      collaborationMode: {
        mode: 'plan',
        settings: { model: 'gpt-5.5', reasoning_effort: null, developer_instructions: null },
      },
    })
    expect(messages.some(status('active', 'waitingOnUserInput'))).toBe(true)
    expect(said(messages, 'item/tool/requestUserInput')[0].questions[0]).toMatchObject({ id: 'c', question: 'Which?' })
    expect(told('ask').at(-1)).toContain('Blue')
  })

  it('starts agents below a thread, whose watchers see them, and moves them with it', async () => {
    // Of a model that nobody knows every server offers the tools at once.
    const id = await start({ model: 'nobody-knows-it', experimentalRawEvents: true })
    const { turn, messages } = await c.turn(id, '[[agents]]')
    const calls = items(messages, 'item/completed', 'collabAgentToolCall')
    const child = calls[0].receiverThreadIds[0]
    expect(calls.map((i) => [i.tool, i.status, i.senderThreadId, i.agentsStates[child].status])).toEqual([
      ['spawnAgent', 'completed', id, 'pendingInit'],
      ['wait', 'completed', id, 'completed'],
      ['closeAgent', 'completed', id, 'completed'],
      ['resumeAgent', 'completed', id, 'pendingInit'],
    ])
    expect(calls[1].agentsStates[child].message).toBe('The part is done.')
    const outputs = told('agents').map((text) => JSON.parse(text) as string)
    expect(outputs.slice(1)).toEqual([
      `{"status":{"${child}":{"completed":"The part is done."}},"timed_out":false}`,
      '{"previous_status":{"completed":"The part is done."}}',
      '{"status":"pending_init"}',
      'agent ids must be non-empty',
    ])
    expect(model.lastInput).toContain('<subagent_notification>')
    const ended = said(messages, 'turn/completed').find((p) => p.threadId === child)
    expect([ended.turn.rootTurnId, ended.turn.status]).toEqual([turn.id, 'completed'])
    const raw = said(messages, 'rawResponseItem/completed').filter((p) => p.threadId === id)
    expect(raw.map((p) => p.item.name).filter(Boolean)).toEqual(expect.arrayContaining(['spawn_agent', 'wait_agent']))
    expect((await c.call('thread/read', { threadId: child })).thread).toMatchObject({
      sessionId: id,
      parentThreadId: id,
      agentNickname: expect.any(String),
      source: { subAgent: { thread_spawn: { parent_thread_id: id, depth: 1 } } },
    })
    const below = await c.call('thread/list', { ancestorThreadId: id, modelProviders: [], sourceKinds: ['subAgent'] })
    expect(below.data.map((t: any) => t.id)).toEqual([child])
    const from = c.seen.length
    await c.call('thread/archive', { threadId: id })
    for (const threadId of [id, child]) await c.notified('thread/archived', (p) => p.threadId === threadId, from)
  })

  it('calls MCP tools: unasked when they only read, with a yes otherwise, and hands forms through', async () => {
    const id = await start()
    await c.notified(
      'mcpServer/startupStatus/updated',
      (p) => p.threadId === id && p.name === 'mini' && p.status === 'ready',
    )
    const { data } = await c.call('mcpServerStatus/list', { threadId: id })
    expect(Object.keys(data.find((s: any) => s.name === 'mini').tools).sort()).toEqual(['ask', 'echo', 'store'])
    const asked: any[] = []
    c.answers.set('mcpServer/elicitation/request', (p) => {
      asked.push(p)
      return { action: 'accept', content: p._meta?.codex_approval_kind ? {} : { colour: 'green' }, _meta: null }
    })
    const echoed = await c.turn(id, '[[echo]]')
    expect([items(echoed.messages, 'item/completed', 'mcpToolCall')[0], asked]).toMatchObject([
      { status: 'completed', server: 'mini' },
      [],
    ])
    await c.turn(id, '[[store]]')
    expect(asked.map((p) => p._meta?.codex_approval_kind)).toEqual(['mcp_tool_call'])
    await c.turn(id, '[[form]]')
    expect([asked.at(-1).message, told('form').at(-1)]).toEqual([
      'What colour?',
      expect.stringContaining('green') as string,
    ])
  })

  it.each([
    ['http500', 'completed', 0],
    ['dropped', 'completed', 1],
    ['idle', 'completed', 1],
    ['limited', 'completed', 1],
    ['http400', 'failed', 1],
    ['http401', 'failed', 2],
    ['http429', 'failed', 1],
    ['full', 'failed', 1],
  ])('a model server that answers %s: the turn is %s', async (script, turnStatus, errors) => {
    const id = await start()
    const { turn, messages } = await c.turn(id, `[[${script}]]`)
    expect([turn.status, said(messages, 'error').length]).toEqual([turnStatus, errors])
    expect(turn.error === null).toBe(turnStatus === 'completed')
    expect((await c.turn(id, '[[hello]]')).turn.status).toBe('completed')
  })

  it('compacts and reviews', async () => {
    const id = await start()
    await c.turn(id, '[[hello]] long ago')
    let from = c.seen.length
    expect(await c.call('thread/compact/start', { threadId: id })).toEqual({})
    await c.notified('turn/completed', () => true, from)
    expect(items(c.seen.slice(from), 'item/completed', 'contextCompaction')).toHaveLength(1)
    await c.turn(id, '[[hello]] after')
    expect(model.lastInput).not.toContain('"role":"assistant"')
    from = c.seen.length
    const started = await c.call('review/start', {
      threadId: id,
      delivery: 'inline',
      target: { type: 'custom', instructions: '[[review]] look' },
    })
    expect(started.reviewThreadId).toBe(id)
    await c.notified('turn/completed', () => true, from)
    const messages = c.seen.slice(from)
    expect([
      items(messages, 'item/completed', 'enteredReviewMode').length,
      items(messages, 'item/completed', 'exitedReviewMode')[0].review,
    ]).toEqual([1, expect.stringContaining('Looks fine.') as string])
  })

  it('runs commands and touches files for the client itself', async () => {
    expect(
      await c.call('command/exec', { command: ['sh', '-c', 'echo out; echo err >&2; exit 4'], cwd: ws }),
    ).toMatchObject({ exitCode: 4, stdout: 'out\n', stderr: 'err\n' })
    await refusal(c.call('command/exec', { command: [] }))
    // Behind the walls that are asked for; without a word, those of the configuration.
    const writes = async (name: string, more: object): Promise<[boolean, boolean]> => {
      const { exitCode } = await c.call('command/exec', { command: ['sh', '-c', `echo x > ${name}`], cwd: ws, ...more })
      return [exitCode === 0, existsSync(join(ws, name))]
    }
    expect([
      await writes('exec-a', {}),
      await writes('exec-b', { sandboxPolicy: { type: 'readOnly' } }),
      await writes('exec-c', { sandboxPolicy: { type: 'workspaceWrite', writableRoots: [ws] } }),
      await writes('exec-d', { permissionProfile: ':danger-full-access' }),
    ]).toEqual([
      [false, false],
      [false, false],
      [true, true],
      [true, true],
    ])
    const both = { permissionProfile: ':workspace', sandboxPolicy: { type: 'readOnly' } }
    for (const params of [{ permissionProfile: ':none' }, both, { sandboxPolicy: { type: 'glass' } }])
      await refusal(c.call('command/exec', { command: ['true'], cwd: ws, ...params }))
    const cat = c.call('command/exec', {
      command: ['cat'],
      processId: 'p1',
      streamStdin: true,
      streamStdoutStderr: true,
      cwd: ws,
    })
    const write = async (params: object): Promise<unknown> => {
      for (;;)
        try {
          return await c.call('command/exec/write', params)
        } catch (error) {
          // It is starting still.
          if (!/no active/.test((error as Error).message)) throw error
        }
    }
    await write({ processId: 'p1', deltaBase64: Buffer.from('abc\n').toString('base64') })
    const delta = await c.notified('command/exec/outputDelta', (p) => p.processId === 'p1')
    expect(Buffer.from(delta.params.deltaBase64, 'base64').toString()).toBe('abc\n')
    await write({ processId: 'p1', closeStdin: true })
    expect(await cat).toMatchObject({ exitCode: 0, stdout: '' })
    expect(await c.call('command/exec', { command: ['sleep', '30'], timeoutMs: 200, cwd: ws })).toMatchObject({
      exitCode: 124,
    })
    await refusal(c.call('command/exec/write', { processId: 'nope', closeStdin: true }))
    const from = c.seen.length
    expect(
      await c.call('process/spawn', {
        command: ['sh', '-c', 'echo hi; exit 5'],
        processHandle: 'h',
        cwd: ws,
        streamStdoutStderr: true,
      }),
    ).toEqual({})
    expect((await c.notified('process/exited', (p) => p.processHandle === 'h', from)).params.exitCode).toBe(5)
    const tty = c.call('command/exec', {
      command: ['sh', '-c', 'read x; stty size'],
      processId: 't',
      tty: true,
      streamStdin: true,
      streamStdoutStderr: true,
      size: { rows: 30, cols: 100 },
      cwd: ws,
    })
    const resized = async (): Promise<unknown> => {
      for (;;)
        try {
          return await c.call('command/exec/resize', { processId: 't', size: { rows: 31, cols: 101 } })
        } catch (error) {
          if (!/no active/.test((error as Error).message)) throw error
        }
    }
    expect(await resized()).toEqual({})
    await write({ processId: 't', deltaBase64: Buffer.from('\n').toString('base64') })
    await tty
    const screen = said(c.seen, 'command/exec/outputDelta')
      .filter((p) => p.processId === 't')
      .map((p) => Buffer.from(p.deltaBase64, 'base64').toString())
      .join('')
    expect(screen).toContain('31 101')

    const file = join(ws, 'note.txt')
    expect(await c.call('fs/writeFile', { path: file, dataBase64: 'aGVsbG8=' })).toEqual({})
    expect((await c.call('fs/readFile', { path: file })).dataBase64).toBe('aGVsbG8=')
    expect(await c.call('fs/getMetadata', { path: file })).toMatchObject({ isFile: true, isDirectory: false })
    expect((await c.call('fs/readDirectory', { path: ws })).entries.map((e: any) => e.fileName)).toContain('note.txt')
    await c.call('fs/watch', { watchId: 'w', path: file })
    // A watcher takes its time to be in place: written until it is seen.
    const writing = setInterval(() => writeFileSync(file, String(Date.now())), 100)
    await c.notified('fs/changed', (p) => p.watchId === 'w')
    clearInterval(writing)
    await c.call('fs/unwatch', { watchId: 'w' })
    expect((await refusal(c.call('fs/readFile', { path: 'relative' }))).code).toBe(-32600)
    await c.call('fs/remove', { path: file })
    expect(existsSync(file)).toBe(false)
  })

  it('finds files by a few letters, once and as somebody types', async () => {
    for (const name of ['alpha-beta.txt', 'gamma.txt']) writeFileSync(join(ws, name), '')
    mkdirSync(join(ws, 'deep'))
    writeFileSync(join(ws, 'deep', 'alphabet.md'), '')
    const once = (await c.call('fuzzyFileSearch', { query: 'alp', roots: [ws], cancellationToken: null })).files
    expect(once.map((f: any) => f.path).sort()).toEqual(['alpha-beta.txt', join('deep', 'alphabet.md')])
    expect(once.find((f: any) => f.path === 'alpha-beta.txt')).toMatchObject({
      root: ws,
      file_name: 'alpha-beta.txt',
      indices: [0, 1, 2],
    })
    expect(await c.call('fuzzyFileSearch/sessionStart', { sessionId: 's', roots: [ws] })).toEqual({})
    expect(await c.call('fuzzyFileSearch/sessionUpdate', { sessionId: 's', query: 'gam' })).toEqual({})
    await c.notified(
      'fuzzyFileSearch/sessionUpdated',
      (p) => p.query === 'gam' && p.files.length === 1 && p.files[0].path === 'gamma.txt',
    )
    await c.notified('fuzzyFileSearch/sessionCompleted', (p) => p.sessionId === 's')
    expect(await c.call('fuzzyFileSearch/sessionStop', { sessionId: 's' })).toEqual({})
    await refusal(c.call('fuzzyFileSearch/sessionUpdate', { sessionId: 's', query: 'x' }))
  })

  it('tells models, configuration and account', async () => {
    const { data } = await c.call('model/list', {})
    expect(data.every((m: any) => m.id && m.displayName && Array.isArray(m.supportedReasoningEfforts))).toBe(true)
    expect(data.filter((m: any) => m.isDefault)).toHaveLength(1)
    expect(Object.keys(await c.call('config/read', { includeLayers: true, cwd: ws }))).toEqual(
      expect.arrayContaining(['config', 'origins', 'layers']),
    )
    expect(
      await c.call('config/value/write', { keyPath: 'hide_agent_reasoning', value: true, mergeStrategy: 'replace' }),
    ).toMatchObject({ status: 'ok' })
    expect(readFileSync(join(where.home, 'config.toml'), 'utf8')).toContain('hide_agent_reasoning = true')
    expect(await c.call('account/read', {})).toMatchObject({ account: null, requiresOpenaiAuth: false })
  })

  it('answers a flood: every request is served or told to come again', async () => {
    const answers = Array.from({ length: 400 }, (_, i) =>
      c.call('thread/loaded/list', {}, `f${i}`).then(
        () => 0,
        (error: AppServerRefusal) => error.code,
      ),
    )
    // The real server may lose refusals when it cannot write fast enough; what comes is one of both.
    const settled = program.isOurs ? await Promise.all(answers) : [await Promise.race(answers)]
    expect(settled.every((code) => code === 0 || code === -32001)).toBe(true)
    expect(settled).toContain(0)
  })
})

describe.each(appServersUnderTest().map((program) => [program.name, program] as const))(
  '%s as a listener',
  (_, program) => {
    let where: ReturnType<typeof place>
    let server: RunningAppServer | undefined
    beforeEach(() => void (where = place()))
    afterEach(() => server?.stop())
    const listening = async (transport: AppServerTransport, ...more: string[]) => {
      server = await startAppServer(program, transport, where, more)
      return server
    }
    const httpStatus = (url: string, headers: Record<string, string> = {}) =>
      fetch(url.replace('ws:', 'http:'), { headers }).then((r) => r.status)
    const upgrade = (headers: Record<string, string>) =>
      socketCarrier(server!.url!, headers).then(
        (carrier) => {
          carrier.close()
          return 'in'
        },
        (error: Error) => error.message,
      )

    it('answers probes, refuses browsers, and shows one thread to several clients', async () => {
      const { url, connect } = await listening('ws')
      expect([
        await httpStatus(`${url}/readyz`),
        await httpStatus(`${url}/healthz`),
        await httpStatus(`${url}/healthz`, { Origin: 'http://evil.example' }),
      ]).toEqual([200, 200, 403])
      expect(await upgrade({ Origin: 'http://evil.example' })).toBe('403')
      const a = await (await connect()).open()
      const b = await (await connect()).open()
      const id = (
        await a.call('thread/start', {
          cwd: ws,
          model: 'gpt-5.5',
          approvalPolicy: 'on-request',
          sandbox: 'workspace-write',
          config: config(),
        })
      ).thread.id
      await b.notified('thread/started', (p) => p.thread.id === id)
      const running = a.turn(id, '[[escape]]')
      const asked = await a.asked('item/commandExecution/requestApproval')
      const joined = await b.call('thread/resume', { threadId: id })
      expect(joined.thread.status).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] })
      const same = await b.asked('item/commandExecution/requestApproval')
      expect([same.id, same.params.itemId]).toEqual([asked.id, asked.params.itemId])
      b.send({ id: same.id, result: { decision: 'accept' } })
      a.send({ id: asked.id, result: { decision: 'cancel' } })
      expect((await running).turn.status).toBe('completed')
      await b.notified('turn/completed')
      for (const client of [a, b])
        expect(said(client.seen, 'serverRequest/resolved').map((p) => p.requestId)).toEqual([asked.id])
      const from = b.seen.length
      const fromA = a.seen.length
      void a.turn(id, '[[run]]').catch(() => undefined)
      await a.notified('item/started', (p) => p.item.type === 'commandExecution', fromA)
      a.close()
      expect((await b.notified('turn/completed', () => true, from)).params.turn.status).toBe('completed')
      b.close()
    })

    it('wants the right token', async () => {
      const file = join(where.home, 'token')
      writeFileSync(file, 'secret-token-0123456789abcdef\n', { mode: 0o600 })
      await listening('ws', '--ws-auth', 'capability-token', '--ws-token-file', file)
      expect([
        await upgrade({}),
        await upgrade({ Authorization: 'Bearer wrong' }),
        await upgrade({ Authorization: 'Bearer secret-token-0123456789abcdef' }),
      ]).toEqual(['401', '401', 'in'])
    })

    it('wants a token that is signed, in time and meant for it', async () => {
      const secret = 'a-secret-of-at-least-32-bytes-0123456789'
      const file = join(where.home, 'secret')
      writeFileSync(file, secret, { mode: 0o600 })
      await listening(
        'ws',
        '--ws-auth',
        'signed-bearer-token',
        '--ws-shared-secret-file',
        file,
        '--ws-audience',
        'gatehouse',
      )
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const token = (claims: object, key = secret) => {
        const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
        return { Authorization: `Bearer ${text}.${createHmac('sha256', key).update(text).digest('base64url')}` }
      }
      const now = Math.floor(Date.now() / 1000)
      expect(await upgrade(token({ exp: now + 60, aud: 'gatehouse' }))).toBe('in')
      for (const wrong of [
        token({ exp: now - 120, aud: 'gatehouse' }),
        token({ exp: now + 60, aud: 'other' }),
        token({ exp: now + 60, aud: 'gatehouse' }, 'x'.repeat(40)),
        token({ aud: 'gatehouse' }),
      ])
        expect(await upgrade(wrong)).toBe('401')
    })

    it('makes a socket that only its owner can open', async () => {
      const { connect } = await listening('unix')
      expect(statSync(where.socketPath).mode & 0o777).toBe(0o600)
      const client = await (await connect()).open()
      expect((await client.call('thread/loaded/list', {})).data).toEqual([])
      client.close()
    })

    // The CLI is a program within a launcher, which has its own way with signals.
    it.runIf(program.isOurs)('ends at once when idle, and after the running turn otherwise', async () => {
      const { connect, signal, ended } = await listening('ws')
      const client = await (await connect()).open()
      const id = (await client.call('thread/start', { cwd: ws, config: config() })).thread.id
      const running = client.turn(id, '[[slow]]')
      await client.notified('item/agentMessage/delta')
      signal('SIGTERM')
      expect((await running).turn.status).toBe('completed')
      expect(await ended()).toBe(0)
      await listening('ws')
      server!.signal('SIGTERM')
      expect(await server!.ended()).toBe(0)
    })
  },
)
