import { expect, test } from 'vitest'
import type { ItemEntry, ThreadItem } from '../../../sidecars/protocol/owner-threads.ts'
import { EMPTY_TRANSCRIPT, withNews, withOlder, type Transcript } from './transcript.ts'

const message = (id: string, text: string): ThreadItem => ({
  type: 'agentMessage',
  id,
  text,
  phase: null,
  memoryCitation: null,
})
const stored = (...ids: string[]): ItemEntry[] => ids.map((id) => ({ turnId: 't', item: message(id, id) }))
const hear = (transcript: Transcript, ...news: [string, Record<string, unknown>][]): Transcript =>
  news.reduce((so, [method, params]) => withNews(so, { method, params: { turnId: 't', ...params } }), transcript)
const texts = ({ entries }: Transcript) =>
  entries.map(({ item }) => (item.type === 'agentMessage' ? item.text : item.type))

test('pages come newest first and stand oldest first, each item once', () => {
  const newest = withOlder(EMPTY_TRANSCRIPT, stored('d', 'c'))
  expect(texts(withOlder(newest, stored('c', 'b', 'a')))).toEqual(['a', 'b', 'c', 'd'])
})

test('a message grows by its deltas and is whole in the end, whatever was missed', () => {
  const growing = hear(
    EMPTY_TRANSCRIPT,
    ['item/started', { item: message('a', '') }],
    ['item/agentMessage/delta', { itemId: 'a', delta: 'Hel' }],
    ['item/agentMessage/delta', { itemId: 'a', delta: 'lo' }],
  )
  expect(texts(growing)).toEqual(['Hello'])
  expect(growing.entries[0]?.isOpen).toBe(true)
  const whole = hear(growing, ['item/completed', { item: message('a', 'Hello.') }])
  expect(whole.entries).toMatchObject([{ isOpen: false, item: { text: 'Hello.' } }])
  // A delta that was on its way while the page was read is in the stored item already.
  expect(hear(whole, ['item/agentMessage/delta', { itemId: 'a', delta: '.' }])).toBe(whole)
})

test('the turn that runs is known, and an interrupted one leaves nothing open', () => {
  const running = hear(
    EMPTY_TRANSCRIPT,
    ['turn/started', { turn: { id: 't' } }],
    ['item/started', { item: message('a', 'half') }],
  )
  expect(running.activeTurnId).toBe('t')
  const over = hear(running, ['turn/completed', { turn: { id: 't', status: 'interrupted', error: null } }])
  expect(over).toMatchObject({ activeTurnId: null, failure: null, entries: [{ isOpen: false }] })
  const failed = hear(running, [
    'turn/completed',
    { turn: { id: 't', status: 'failed', error: { message: 'no key' } } },
  ])
  expect(failed.failure).toBe('no key')
  expect(hear(failed, ['turn/started', { turn: { id: 'u' } }]).failure).toBeNull()
})
