/* oxlint-disable typescript/no-explicit-any -- what the server sends is what is under test */
/** Child agents: started, told, waited for, ended, reopened by a model over real HTTP. */
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AppServerClient, AppServerMessage } from '../../testing/app-server-client.ts'
import { ScriptedAppServer } from '../../testing/scripted-app-server.ts'
import type { ModelStep, ScriptedModel } from '../../testing/scripted-model.ts'

const namespace = 'multi_agent_v1'
const agentCall = (call: string, args: object): ModelStep => ({ call, args, namespace })
const spawn = (message: string, more: object = {}): ModelStep => agentCall('spawn_agent', { message, ...more })
const idIn = (output: string | undefined): string => JSON.parse(output ?? '{}').agent_id
/** Runs one agent call on the agent that the first one started. */
const after =
  (first: ModelStep, ...next: ((id: string) => ModelStep)[]) =>
  (_: number, outputs: string[]): ModelStep[] =>
    outputs.length === 0 ? [first] : [next[outputs.length - 1]?.(idIn(outputs[0])) ?? { say: 'All done.' }]

/** The agent that the script `tell` tells something. */
let told: string
let host: ScriptedAppServer
let home: string
let model: ScriptedModel
let c: AppServerClient
let id: string

const wait = (agent: string): ModelStep => agentCall('wait_agent', { targets: [agent] })

beforeEach(async () => {
  host = await ScriptedAppServer.start({
    child: [[{ say: 'The child is done.' }]],
    second: [[{ say: 'Done again.' }]],
    hang: [[{ hang: true }]],
    broken: [[{ fail: 'invalid_prompt', message: 'no such thing' }]],
    delegate: after(spawn('[[child]] part'), wait),
    whole: after(
      spawn('[[child]] part'),
      wait,
      (agent) => agentCall('send_input', { target: agent, message: '[[second]] more' }),
      wait,
      (agent) => agentCall('close_agent', { target: agent }),
      wait,
      (agent) => agentCall('send_input', { target: agent, message: 'x' }),
      (agent) => agentCall('resume_agent', { id: agent }),
    ),
    redirect: after(
      spawn('[[hang]] for ever'),
      (agent) => agentCall('send_input', { target: agent, message: '[[second]] instead', interrupt: true }),
      wait,
    ),
    waitfor: after(spawn('[[hang]] for ever'), wait),
    errors: after(spawn('[[broken]] part'), wait),
    fork: after(spawn('[[child]] part', { fork_context: true, model: 'gpt-5.5', reasoning_effort: 'high' }), wait),
    many: (_, outputs) => (outputs.length < 3 ? [spawn('[[hang]] x')] : [{ say: 'ok' }]),
    tell: (_, outputs) =>
      [
        [agentCall('send_input', { target: told, message: '[[second]] more' })],
        [wait(told)],
        [agentCall('close_agent', { target: told })],
        [agentCall('resume_agent', { id: told })],
      ][outputs.length] ?? [{ say: 'ok' }],
    once: [[spawn('[[child]] x')], [{ say: 'ok' }]],
    nested: after(spawn('[[delegate]] part'), wait),
    asks: after(spawn('[[ask]] part'), wait),
    ask: [
      [{ call: 'request_user_input', args: { questions: [{ id: 'q', question: 'Which?' }] } }],
      [{ say: 'Asked.' }],
    ],
    wrong: (_, outputs) =>
      [
        [agentCall('spawn_agent', {})],
        [agentCall('wait_agent', { targets: [] })],
        [agentCall('close_agent', { target: 'nobody' })],
        [agentCall('spawn_agent', { items: [{ type: 'smell' }] })],
        [agentCall('spawn_agent', { message: 'x', items: [] })],
        [{ say: 'ok' }],
      ][outputs.length]!,
    hello: [[{ say: 'Hello.' }]],
  })
  ;({ home, model } = host)
  c = await host.open()
  id = (await c.call('thread/start', { cwd: home })).thread.id
})
afterEach(() => host.close())

const items = (messages: AppServerMessage[], threadId = id): any[] =>
  messages.flatMap((m) => (m.method === 'item/completed' && m.params.threadId === threadId ? [m.params.item] : []))
const calls = (messages: AppServerMessage[]) => items(messages).filter((i) => i.type === 'collabAgentToolCall')
const outputsOf = (script: string): string[] =>
  model.requests
    .findLast((r) => r.script === script)!
    .body.input.filter((i) => i.type === 'function_call_output')
    .map((i) => String(i.output))
const childOf = (messages: AppServerMessage[]): string =>
  messages.find((m) => m.method === 'thread/started' && m.params.thread.parentThreadId !== null)!.params.thread.id

describe('a child agent', () => {
  it('works as a thread below its parent, whose watchers see it, and its end comes back', async () => {
    const { turn, messages } = await c.turn(id, '[[delegate]] please')
    const [spawned, waited] = calls(messages)
    const [child] = spawned.receiverThreadIds
    expect(spawned).toMatchObject({
      tool: 'spawnAgent',
      status: 'completed',
      senderThreadId: id,
      prompt: '[[child]] part',
      model: 'gpt-5.5',
      agentsStates: { [child]: { status: 'pendingInit' } },
    })
    expect(waited).toMatchObject({
      tool: 'wait',
      agentsStates: { [child]: { status: 'completed', message: 'The child is done.' } },
    })
    expect(outputsOf('delegate').map((o) => JSON.parse(o))).toEqual([
      { agent_id: child, nickname: 'Alder' },
      { status: { [child]: { completed: 'The child is done.' } }, timed_out: false },
    ])
    expect(model.lastInput).toContain(String.raw`<subagent_notification>\n{\"agent_path\":\"${child}\"`)
    const started = messages.find((m) => m.method === 'turn/started' && m.params.threadId === child)!.params.turn
    expect([started.rootTurnId, started.id === turn.id]).toEqual([turn.id, false])
    expect(items(messages, child).map((i) => i.type)).toEqual(['userMessage', 'agentMessage'])
    // It may not go further down, and knows what it is.
    const asked = model.requests.find((r) => r.script === 'child')!.body
    expect(JSON.stringify(asked.tools)).not.toContain(namespace)
    expect(JSON.stringify(asked.input)).toContain('You work for another agent')
    const { thread } = await c.call('thread/read', { threadId: child })
    expect(thread).toMatchObject({
      sessionId: id,
      parentThreadId: id,
      agentNickname: 'Alder',
      threadSource: 'subagent',
      source: { subAgent: { thread_spawn: { parent_thread_id: id, depth: 1, agent_nickname: 'Alder' } } },
      cwd: home,
    })
    // People may talk to it themselves.
    expect((await c.turn(child, '[[hello]]')).turn).toMatchObject({ status: 'completed', items: [{ text: 'Hello.' }] })
  })

  it('is told more, ended, not reached while it is closed, and opened again', async () => {
    const { messages } = await c.turn(id, '[[whole]]')
    const child = childOf(messages)
    expect(calls(messages).map((i) => [i.tool, i.status, i.agentsStates[child]?.status])).toEqual([
      ['spawnAgent', 'completed', 'pendingInit'],
      ['wait', 'completed', 'completed'],
      ['sendInput', 'completed', expect.stringMatching(/running|completed/)],
      ['wait', 'completed', 'completed'],
      ['closeAgent', 'completed', 'completed'],
      ['wait', 'completed', 'shutdown'],
      ['sendInput', 'failed', undefined],
      ['resumeAgent', 'completed', 'pendingInit'],
    ])
    const outputs = outputsOf('whole')
    expect(JSON.parse(outputs[3]!).status).toEqual({ [child]: { completed: 'Done again.' } })
    expect(JSON.parse(outputs[4]!)).toEqual({ previous_status: { completed: 'Done again.' } })
    expect(JSON.parse(outputs[5]!)).toEqual({ status: { [child]: 'shutdown' }, timed_out: false })
    expect(outputs[6]).toContain('not found; resume_agent opens')
    expect(JSON.parse(outputs[7]!)).toEqual({ status: 'pending_init' })
    const statuses = messages.flatMap((m) =>
      m.method === 'thread/status/changed' && m.params.threadId === child ? [m.params.status.type] : [],
    )
    expect(statuses).toContain('notLoaded')
    expect((await c.call('thread/read', { threadId: child, includeTurns: true })).thread.turns).toHaveLength(2)
  })

  it('drops what it does for something else, when told so', async () => {
    const { messages } = await c.turn(id, '[[redirect]]')
    expect(JSON.parse(outputsOf('redirect')[2]!).status).toEqual({ [childOf(messages)]: { completed: 'Done again.' } })
    expect(model.requests.find((r) => r.script === 'hang')!.closedByClient).toBe(true)
  })

  it('that fails says why', async () => {
    const { messages } = await c.turn(id, '[[errors]]')
    expect(JSON.parse(outputsOf('errors')[1]!).status[childOf(messages)]).toEqual({
      errored: expect.stringContaining('no such thing'),
    })
  })

  it('begins with what its parent knows, with another model and effort, when told so', async () => {
    await c.turn(id, '[[hello]] the secret word is plum')
    await c.turn(id, '[[fork]]')
    const { body } = model.requests.find((r) => r.script === 'child')!
    const text = JSON.stringify(body.input)
    expect([text.includes('the secret word is plum'), text.includes('spawn_agent')]).toEqual([true, false])
    expect(body.reasoning).toMatchObject({ effort: 'high' })
  })
})

it('an agent loses rights that its parent has lost, when it is told more or opened again', async () => {
  const settings = async (threadId: string) => {
    const { sandbox, approvalPolicy } = await c.call('thread/resume', { threadId, excludeTurns: true })
    return [sandbox.type, approvalPolicy]
  }
  await c.turn(id, '[[hello]]', { sandboxPolicy: { type: 'workspaceWrite' }, approvalPolicy: 'on-request' })
  told = childOf((await c.turn(id, '[[delegate]]')).messages)
  expect(await settings(told)).toEqual(['workspaceWrite', 'on-request'])
  await c.call('thread/settings/update', { threadId: told, sandboxPolicy: { type: 'dangerFullAccess' } })
  await c.call('thread/settings/update', { threadId: id, sandboxPolicy: { type: 'readOnly' }, approvalPolicy: 'never' })
  const { messages } = await c.turn(id, '[[tell]]')
  expect(calls(messages).map((i) => [i.tool, i.status])).toEqual([
    ['sendInput', 'completed'],
    ['wait', 'completed'],
    ['closeAgent', 'completed'],
    ['resumeAgent', 'completed'],
  ])
  const changed = messages.filter((m) => m.method === 'thread/settings/updated' && m.params.threadId === told)
  expect(changed.map((m) => m.params.threadSettings.sandboxPolicy.type)).toEqual(['readOnly'])
  expect(await settings(told)).toEqual(['readOnly', 'never'])
})

it('a wait ends with the turn, and the agent goes on without it', async () => {
  const running = c.turn(id, '[[waitfor]]')
  const begun = await c.notified('item/started', (p) => p.item.tool === 'wait')
  await c.call('turn/interrupt', { threadId: id, turnId: begun.params.turnId })
  const { turn, messages } = await running
  expect([turn.status, calls(messages).map((i) => [i.tool, i.status])]).toEqual([
    'interrupted',
    [
      ['spawnAgent', 'completed'],
      ['wait', 'interrupted'],
    ],
  ])
  const child = childOf(messages)
  expect((await c.call('thread/read', { threadId: child })).thread.status.type).toBe('active')
  // Neither may be left to another process meanwhile.
  expect((await c.call('gatehouse/thread/suspend', { threadId: id })).outcome).toEqual({ type: 'hasLiveDescendants' })
  expect((await c.call('gatehouse/thread/suspend', { threadId: child })).outcome.type).toBe('unsupportedTask')
})

it('agents are limited in number, and switched off or allowed further down by the configuration', async () => {
  const start = async (config: object) => (await c.call('thread/start', { cwd: home, config })).thread.id
  const two = await start({ 'agents.max_threads': 2 })
  await c.turn(two, '[[many]]')
  const outputs = outputsOf('many')
  expect(outputs.slice(0, 2).map((o) => JSON.parse(o).nickname)).toEqual(['Alder', 'Aspen'])
  expect(outputs[2]).toContain('the limit of 2 open agents is reached')
  const off = await start({ 'agents.enabled': false })
  await c.turn(off, '[[once]]')
  expect([JSON.stringify(model.requests.at(-1)!.body.tools).includes(namespace), outputsOf('once')[0]]).toEqual([
    false,
    'unsupported call: spawn_agent',
  ])
  const deep = await start({ 'agents.max_depth': 2 })
  const { messages } = await c.turn(deep, '[[nested]]')
  const below = messages.filter((m) => m.method === 'thread/started').map((m) => m.params.thread)
  expect(below.map((t) => [t.parentThreadId, t.sessionId, t.source.subAgent.thread_spawn.depth])).toEqual([
    [deep, deep, 1],
    [below[0].id, deep, 2],
  ])
  const list = async (params: object) =>
    (await c.call('thread/list', { modelProviders: [], ...params })).data.map((t: any) => t.id).toSorted()
  const ids = below.map((t) => t.id)
  expect(await list({ parentThreadId: deep })).toEqual([ids[0]])
  expect(await list({ ancestorThreadId: deep })).toEqual(ids.toSorted())
  expect(await list({ ancestorThreadId: deep, sourceKinds: ['subAgentThreadSpawn'] })).toEqual(ids.toSorted())
  expect(await list({ ancestorThreadId: deep, sourceKinds: ['subAgentReview'] })).toEqual([])
  expect(await list({})).not.toContain(ids[0])
})

it('questions of an agent reach whoever watches its parent, also later', async () => {
  const plan = { mode: 'plan', settings: { model: 'gpt-5.5', reasoning_effort: null, developer_instructions: null } }
  const running = c.turn(id, '[[asks]]', { collaborationMode: plan })
  const question = await c.asked('item/tool/requestUserInput')
  expect(question.params.threadId).not.toBe(id)
  const d = await host.open()
  await d.call('thread/resume', { threadId: id, excludeTurns: true })
  const again = await d.asked('item/tool/requestUserInput')
  expect(again.id).toBe(question.id)
  d.send({ id: again.id, result: { answers: { q: { answers: ['This.'] } } } })
  const { messages } = await running
  expect(JSON.parse(outputsOf('asks')[1]!).status[childOf(messages)]).toEqual({ completed: 'Asked.' })
  // Who leaves the parent leaves its agents.
  await c.call('thread/unsubscribe', { threadId: id })
  expect(await c.call('thread/unsubscribe', { threadId: childOf(messages) })).toEqual({ status: 'notSubscribed' })
})

it('agents end, move and go with their parent', async () => {
  const { messages } = await c.turn(id, '[[delegate]]')
  const child = childOf(messages)
  const { path } = (await c.call('thread/read', { threadId: child })).thread
  const from = c.seen.length
  await c.call('thread/archive', { threadId: id })
  await c.notified('thread/archived', (p) => p.threadId === child, from)
  expect([existsSync(path), (await c.call('thread/loaded/list', {})).data]).toEqual([false, []])
  await c.call('thread/unarchive', { threadId: id })
  expect(existsSync(path)).toBe(true)
  await host.restart()
  c = await host.open()
  // A closed agent of an earlier life is opened again by its parent.
  await c.call('thread/resume', { threadId: id })
  const again = await c.call('thread/resume', { threadId: child })
  expect([again.thread.agentNickname, again.thread.turns.length]).toEqual(['Alder', 1])
  await c.call('thread/delete', { threadId: id })
  expect(existsSync(path)).toBe(false)
})

it('a thread with an agent at work is not let go, nor is the agent', async () => {
  const watcher = await host.open()
  const short = (await c.call('thread/start', { cwd: home, config: { thread_unload_delay_secs: 0.01 } })).thread.id
  const running = c.turn(short, '[[waitfor]]')
  const begun = await c.notified('item/started', (p) => p.item.tool === 'wait')
  await c.call('turn/interrupt', { threadId: short, turnId: begun.params.turnId })
  const child = childOf((await running).messages)
  await c.call('thread/unsubscribe', { threadId: short })
  const active = (await watcher.call('thread/turns/list', { threadId: child })).data[0]
  expect((await watcher.call('thread/loaded/list', {})).data).toEqual(expect.arrayContaining([short, child]))
  await watcher.call('turn/interrupt', { threadId: child, turnId: active.id })
  await watcher.notified('thread/closed', (p) => p.threadId === child)
  await watcher.notified('thread/closed', (p) => p.threadId === short)
})

it('calls that cannot be are answered in words', async () => {
  const { messages } = await c.turn(id, '[[wrong]]')
  expect(outputsOf('wrong')).toEqual([
    'Provide one of: message or items',
    'agent ids must be non-empty',
    expect.stringContaining('agent with id nobody not found'),
    expect.stringContaining('`items[0].type` must be text, image'),
    'Provide one of: message or items',
  ])
  expect(calls(messages).map((i) => [i.tool, i.status])).toEqual([['closeAgent', 'failed']])
})

it('when to start agents is a setting, told to the model', async () => {
  const told = () => JSON.stringify(model.requests.at(-1)!.body.tools)
  await c.turn(id, '[[hello]]')
  expect(told()).toContain('only when the person')
  await c.call('thread/settings/update', { threadId: id, multiAgentMode: 'proactive' })
  await c.turn(id, '[[hello]]')
  expect(told()).toContain('without being asked')
  await c.turn(id, '[[hello]]', { multiAgentMode: { custom: 'Only on Mondays.' } })
  expect(told()).toContain('Only on Mondays.')
  await expect(c.call('thread/settings/update', { threadId: id, multiAgentMode: 'never' })).rejects.toThrow(
    'multiAgentMode: expected explicitRequestOnly',
  )
})
