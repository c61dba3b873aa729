/** What clients of `experimentalRawEvents` hear: every item of the model's history, and the end of each response. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AppServerClient, AppServerMessage } from '../../testing/app-server-client.ts'
import { ScriptedAppServer } from '../../testing/scripted-app-server.ts'

let host: ScriptedAppServer
let c: AppServerClient

beforeEach(async () => {
  host = await ScriptedAppServer.start({
    hello: [[{ think: 'hm' }, { say: 'Hello.' }, { usage: 500 }]],
    plan: [[{ call: 'update_plan', args: { plan: [] } }], [{ say: 'Planned.' }]],
    broken: [[{ say: 'half' }, { fail: 'invalid_prompt', message: 'no' }]],
  })
  c = await host.open()
})
afterEach(() => host.close())

const start = async (params: object): Promise<string> =>
  (await c.call('thread/start', { cwd: host.home, ...params })).thread.id
const raw = (messages: AppServerMessage[]) => messages.filter((m) => m.method?.startsWith('rawResponse'))

it('everything that the model is told and says, in its order, with the turn', async () => {
  const id = await start({ experimentalRawEvents: true })
  const { turn, messages } = await c.turn(id, '[[plan]]')
  expect(raw(messages).every((m) => m.params.threadId === id && m.params.turnId === turn.id)).toBe(true)
  expect(raw(messages).map((m) => m.params.item?.type ?? m.method)).toEqual([
    'message',
    'message',
    'message',
    'function_call',
    'rawResponse/completed',
    'function_call_output',
    'message',
    'rawResponse/completed',
  ])
  const items = raw(messages).flatMap((m) => m.params.item ?? [])
  // What the model was asked with is what was told.
  expect(items.slice(0, -1)).toEqual(host.model.requests.at(-1)!.body.input)
  const again = await c.turn(id, '[[hello]]')
  expect(raw(again.messages).map((m) => m.params.item?.type ?? m.params.usage.totalTokens)).toEqual([
    'message',
    'reasoning',
    'message',
    500,
  ])
  expect(raw(again.messages).at(-1)!.params.responseId).toBe('r')
})

it('not of a response that broke off, not for a thread that did not ask, not without the capability', async () => {
  const id = await start({ experimentalRawEvents: true })
  const { messages } = await c.turn(id, '[[broken]]')
  expect(raw(messages).filter((m) => m.method === 'rawResponse/completed')).toEqual([])
  const quiet = await start({})
  expect(raw((await c.turn(quiet, '[[hello]]')).messages)).toEqual([])
  const plain = await host.open({})
  await expect(plain.call('thread/start', { cwd: host.home, experimentalRawEvents: true })).rejects.toThrow(
    'thread/start.experimentalRawEvents requires experimentalApi capability',
  )
  await plain.call('thread/start', { cwd: host.home, experimentalRawEvents: null })
})
