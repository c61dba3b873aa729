import { expect, test } from 'vitest'
import type { Emit } from '../../protocol/app-server/notifications.ts'
import { OpenItems } from './open-items.ts'

const of = { threadId: 't', turnId: 'u' }
const message = (text: string) => ({ type: 'agentMessage', id: 'm', text, phase: null, memoryCitation: null })
const command = { type: 'commandExecution', id: 'c', aggregatedOutput: null }
/** As notifications come, without the members that do not matter here. */
const hear = (items: OpenItems, ...news: [Parameters<Emit>[0], object][]): void => {
  for (const [method, params] of news) items.notified(method, { ...of, ...params } as never)
}

test('what has begun is told with its text so far until it ends', () => {
  const items = new OpenItems()
  hear(
    items,
    ['item/started', { item: message(''), startedAtMs: 5 }],
    ['item/started', { item: command, startedAtMs: 6 }],
    ['item/agentMessage/delta', { itemId: 'm', delta: 'Hel' }],
    ['item/agentMessage/delta', { itemId: 'm', delta: 'lo' }],
    ['item/commandExecution/outputDelta', { itemId: 'c', delta: 'out' }],
    ['item/commandExecution/outputDelta', { itemId: 'none', delta: 'lost' }],
  )
  expect(items.of('t').data).toMatchObject([
    { turnId: 'u', startedAtMs: 5, item: { text: 'Hello' } },
    { turnId: 'u', startedAtMs: 6, item: { aggregatedOutput: 'out' } },
  ])
  hear(items, ['item/completed', { item: message('Hello') }])
  expect(items.of('t').data.map(({ item }) => item.id)).toEqual(['c'])
  expect(items.of('another').data).toEqual([])
})

test('a command may outlive its turn, a message that was cut off does not', () => {
  const items = new OpenItems()
  hear(
    items,
    ['item/started', { item: message(''), startedAtMs: 1 }],
    ['item/started', { item: command, startedAtMs: 2 }],
    ['turn/completed', { turn: { id: 'u' } }],
  )
  expect(items.of('t').data.map(({ item }) => item.id)).toEqual(['c'])
  hear(items, ['thread/closed', {}])
  expect(items.of('t').data).toEqual([])
})

test('long output is kept by its end, usage and plan by their newest', () => {
  const items = new OpenItems()
  hear(items, ['item/started', { item: command, startedAtMs: 1 }])
  for (let i = 0; i < 40; i++)
    hear(items, ['item/commandExecution/outputDelta', { itemId: 'c', delta: `${i}`.padEnd(8_192) }])
  const output = String((items.of('t').data[0]!.item as { aggregatedOutput: unknown }).aggregatedOutput)
  expect(output.length).toBeLessThanOrEqual(2 * 64 * 1024)
  expect(output.trim().endsWith('39')).toBe(true)
  hear(
    items,
    ['thread/tokenUsage/updated', { tokenUsage: { total: 1 } }],
    ['turn/plan/updated', { plan: [{ step: 'a', status: 'pending' }] }],
  )
  expect(items.of('t')).toMatchObject({ usage: { total: 1 }, plan: [{ step: 'a' }] })
  hear(items, ['turn/started', { turn: { id: 'v' } }])
  expect(items.of('t').plan).toBeNull()
})
