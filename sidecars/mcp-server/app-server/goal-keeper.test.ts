/** Goals of threads: gone on with until they are reached, used up or stuck; by people and by the model. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AppServerClient } from '../../testing/app-server-client.ts'
import { ScriptedAppServer } from '../../testing/scripted-app-server.ts'
import type { ModelStep } from '../../testing/scripted-model.ts'

const goal = (call: string, args: object = {}): ModelStep[] => [{ call, args }]
let host: ScriptedAppServer
let c: AppServerClient
let id: string

beforeEach(async () => {
  host = await ScriptedAppServer.start({
    work: [
      [{ call: 'update_plan', args: { plan: [] } }, { usage: 100 }],
      [...goal('update_goal', { status: 'complete' }), { usage: 200 }],
      [{ say: 'Reached.' }, { usage: 300 }],
    ],
    talk: [[{ say: 'I would.' }, { usage: 200 }]],
    hang: [[{ hang: true }]],
    full: [[{ fail: 'insufficient_quota', message: 'pay first' }]],
    hello: [[{ say: 'Hello.' }]],
    tools: (_, outputs) =>
      [
        goal('get_goal'),
        goal('update_goal', { status: 'complete' }),
        goal('create_goal', { objective: ' ' }),
        goal('create_goal', { objective: 'x', token_budget: 0.5 }),
        goal('create_goal', { objective: 'all green', token_budget: 9000 }),
        goal('create_goal', { objective: 'another' }),
        goal('update_goal', { status: 'active' }),
        goal('update_goal', { status: 'blocked' }),
        [{ say: 'ok' }] as ModelStep[],
      ][outputs.length]!,
  })
  c = await host.open()
  id = (await c.call('thread/start', { cwd: host.home })).thread.id
})
afterEach(() => host.close())

const set = (params: object) => c.call('thread/goal/set', { threadId: id, ...params })
const updated = (status: string, from = 0) => c.notified('thread/goal/updated', (p) => p.goal.status === status, from)
const asked = (script: string) => host.model.requests.filter((r) => r.script === script).length
const idle = () =>
  expect.poll(async () => (await c.call('thread/read', { threadId: id })).thread.status.type).toBe('idle')

it('a goal that is set is worked towards at once, counted, and done with when the model says so', async () => {
  const { goal: begun } = await set({ objective: 'all green [[work]]', tokenBudget: 5000 })
  expect(begun).toMatchObject({ threadId: id, status: 'active', tokenBudget: 5000, tokensUsed: 0, timeUsedSeconds: 0 })
  const { params } = await updated('complete')
  expect([params.goal.tokensUsed, typeof params.turnId]).toEqual([100, 'string'])
  const done = await c.notified('turn/completed')
  expect(done.params.turn).toMatchObject({ status: 'completed', items: [{ text: 'Reached.' }] })
  expect(host.model.lastInput).toContain(String.raw`<goal>\nGo on towards the goal of this session:\nall green`)
  await idle()
  expect(c.seen.filter((m) => m.method === 'turn/started')).toHaveLength(1)
  // It is not shown as words of the person.
  expect(c.seen.some((m) => m.method === 'item/started' && m.params.item.type === 'userMessage')).toBe(false)
})

it('turns that only talk set it to blocked; a person can go on with it, and clear it', async () => {
  await set({ objective: 'dream [[talk]]' })
  await updated('blocked')
  await c.notified('warning', (p) => /set to blocked/.test(p.message))
  await idle()
  expect(asked('talk')).toBe(3)
  const from = c.seen.length
  await set({ status: 'active' })
  await updated('blocked', from)
  await idle()
  expect(asked('talk')).toBe(6)
  expect(await c.call('thread/goal/clear', { threadId: id })).toEqual({ cleared: true })
  expect(await c.call('thread/goal/clear', { threadId: id })).toEqual({ cleared: false })
  await expect(set({ status: 'active' })).rejects.toThrow('objective: this thread has no goal yet')
  await expect(set({ objective: ' ' })).rejects.toThrow('objective must not be empty')
})

it('a budget that is used up ends it, so does an account without means', async () => {
  await set({ objective: 'dream [[talk]]', tokenBudget: 150 })
  expect((await updated('budgetLimited')).params.goal.tokensUsed).toBe(200)
  await idle()
  expect(asked('talk')).toBe(1)
  const from = c.seen.length
  await set({ objective: 'spend [[full]]', status: 'active', tokenBudget: 10_000 })
  await updated('usageLimited', from)
})

it('an interruption pauses it, also over a restart', async () => {
  await set({ objective: 'wait [[hang]]' })
  await expect.poll(() => asked('hang')).toBe(1)
  const { turn } = (await c.notified('turn/started')).params
  await c.call('turn/interrupt', { threadId: id, turnId: turn.id })
  await updated('paused')
  await host.restart()
  c = await host.open()
  await c.call('thread/resume', { threadId: id })
  const { params } = await updated('paused')
  expect(params.goal).toMatchObject({ threadId: id, objective: 'wait [[hang]]' })
  expect((await c.turn(id, '[[hello]]')).turn.status).toBe('completed')
  await idle()
  expect(asked('hang')).toBe(1)
})

it('the model reads and sets it, and is told what cannot be', async () => {
  await c.turn(id, '[[tools]]')
  const outputs = host.model.requests
    .at(-1)!
    .body.input.filter((i) => i.type === 'function_call_output')
    .map((i) => String(i.output))
  expect(outputs.slice(0, 4)).toEqual([
    '{"goal":null,"remainingTokens":null}',
    'this thread has no goal',
    'objective must not be empty',
    'token_budget must be a positive whole number',
  ])
  expect(JSON.parse(outputs[4]!)).toMatchObject({
    goal: { objective: 'all green', status: 'active' },
    remainingTokens: 9000,
  })
  expect(outputs[5]).toContain('a goal that is not reached')
  expect(outputs[6]).toBe('status must be one of complete, blocked, paused')
  expect(JSON.parse(outputs[7]!).goal.status).toBe('blocked')
  expect((await c.call('thread/goal/get', { threadId: id })).goal.status).toBe('blocked')
})
