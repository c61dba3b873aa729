import { expect, test } from 'vitest'
import type { ItemEntry, ThreadItem } from '../../../sidecars/protocol/owner-threads.ts'
import {
  EMPTY_TRANSCRIPT,
  endedNews,
  entriesOf,
  newerCursor,
  olderCursor,
  PAGES_HELD,
  withNewer,
  withNewest,
  withNews,
  withOlder,
  withOpen,
  withPlace,
  type ReadPage,
  type Transcript,
} from './transcript.ts'

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
const texts = (transcript: Transcript) =>
  entriesOf(transcript).map(({ item }) => (item.type === 'agentMessage' ? item.text : item.type))
const heardItem = (id: string): [string, Record<string, unknown>] => ['item/completed', { item: message(id, id) }]
const none = new Set<string>()

/** A thread of items 0, 1, 2, … behind a host that pages it like the real one. */
function stack(count: number) {
  const page = (cursor: string | null, direction: 'asc' | 'desc', limit = 10): ReadPage => {
    const isDown = direction === 'desc'
    const from = cursor === null ? (isDown ? count : -1) : Number(cursor)
    const all = Array.from({ length: count }, (_, i) => i)
    const behind = isDown ? all.filter((i) => i < from).reverse() : all.filter((i) => i > from)
    const rows = behind.slice(0, limit)
    return {
      data: stored(...rows.map(String)),
      nextCursor: behind.length > limit ? String(rows.at(-1)) : null,
      backwardsCursor: rows.length > 0 ? String(rows[0]! + (isDown ? 0.5 : -0.5)) : null,
    }
  }
  return { page, grow: () => String(count++) }
}

test('pages come newest first and stand oldest first, each item once', () => {
  const newest = withNewest(EMPTY_TRANSCRIPT, { data: stored('d', 'c'), nextCursor: 'x' }, none)
  expect(texts(withOlder(newest, { data: stored('c', 'b', 'a'), nextCursor: null }))).toEqual(['a', 'b', 'c', 'd'])
})

test('what is heard while a page is read stands behind it, each item once', () => {
  const early = hear(EMPTY_TRANSCRIPT, heardItem('c'), heardItem('d'))
  expect(texts(withNewest(early, { data: stored('c', 'b'), nextCursor: null }, none))).toEqual(['b', 'c', 'd'])
})

test('from the end of a long thread to its start and back, with a bounded number of items held', () => {
  const { page, grow } = stack(400)
  let now = withNewest(EMPTY_TRANSCRIPT, page(null, 'desc'), none)
  for (let cursor = olderCursor(now); cursor !== null; cursor = olderCursor(now)) {
    now = withOlder(now, page(cursor, 'desc'))
    expect(entriesOf(now).length).toBeLessThanOrEqual(PAGES_HELD * 10)
  }
  expect(texts(now).slice(0, 3)).toEqual(['0', '1', '2'])
  // What comes meanwhile is counted, not shown where it does not belong.
  now = hear(now, heardItem(grow()), heardItem(grow()))
  expect([now.isAtEnd, now.unseen, texts(now).at(-1)]).toEqual([false, 2, String(PAGES_HELD * 10 - 1)])
  const seen = new Set(texts(now))
  for (let cursor = newerCursor(now); cursor !== null; cursor = newerCursor(now)) {
    now = withNewer(now, page(cursor, 'asc'))
    for (const text of texts(now)) seen.add(text)
  }
  expect([now.isAtEnd, now.unseen, seen.size]).toEqual([true, 0, 402])
  expect(texts(now).slice(-2)).toEqual(['400', '401'])
  expect(texts(hear(now, heardItem('402'))).at(-1)).toBe('402')
})

test('an item that ends while the last page is on its way is not lost', () => {
  const { page } = stack(30)
  const away = withPlace(EMPTY_TRANSCRIPT, page(null, 'asc'))
  const read = page(newerCursor(away), 'asc', 20)
  const heard = hear(away, heardItem('late'))
  expect(texts(heard)).not.toContain('late')
  expect(texts(withNewer(heard, read)).slice(-2)).toEqual(['29', 'late'])
})

test('the newest page read again takes the place of what came as news, but for what still runs', () => {
  const busy = hear(EMPTY_TRANSCRIPT, heardItem('a'), heardItem('b'), ['item/started', { item: message('c', 'half') }])
  const before = endedNews(busy)
  const later = hear(busy, heardItem('d'))
  expect(texts(withNewest(later, { data: stored('b'), nextCursor: 'more' }, before))).toEqual(['b', 'half', 'd'])
})

test('what is under way is shown by a window that opens late, once', () => {
  const open = [{ turnId: 't', item: message('m', 'half'), startedAtMs: 5 }]
  const late = withOpen(withNewest(EMPTY_TRANSCRIPT, { data: stored('a'), nextCursor: null }, none), open)
  expect(entriesOf(late)).toMatchObject([{ isOpen: false }, { isOpen: true, atMs: 5, item: { text: 'half' } }])
  expect(texts(hear(late, ['item/agentMessage/delta', { itemId: 'm', delta: ' more' }]))).toEqual(['a', 'half more'])
  const over = hear(late, heardItem('m'))
  expect(withOpen(over, open)).toBe(over)
})

test('a message grows by its deltas and is whole in the end, whatever was missed', () => {
  const growing = hear(
    EMPTY_TRANSCRIPT,
    ['item/started', { item: message('a', '') }],
    ['item/agentMessage/delta', { itemId: 'a', delta: 'Hel' }],
    ['item/agentMessage/delta', { itemId: 'a', delta: 'lo' }],
  )
  expect(texts(growing)).toEqual(['Hello'])
  expect(entriesOf(growing)[0]?.isOpen).toBe(true)
  const whole = hear(growing, ['item/completed', { item: message('a', 'Hello.') }])
  expect(entriesOf(whole)).toMatchObject([{ isOpen: false, item: { text: 'Hello.' } }])
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
  expect(over).toMatchObject({ activeTurnId: null, failure: null, live: [{ isOpen: false }] })
  const failed = hear(running, [
    'turn/completed',
    { turn: { id: 't', status: 'failed', error: { message: 'no key' } } },
  ])
  expect(failed.failure).toBe('no key')
  expect(hear(failed, ['turn/started', { turn: { id: 'u' } }]).failure).toBeNull()
})
