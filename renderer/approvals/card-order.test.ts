import { expect, test } from 'vitest'
import { approval } from '../testing/view-fixtures.ts'
import { groupBySession, orderCards } from './card-order.ts'

const request = (id: string, sessionId: string, askedAtMs: number) => approval({ id, sessionId, askedAtMs })
const a1 = request('a1', 'A', 1)
const b1 = request('b1', 'B', 2)
const a2 = request('a2', 'A', 3)
const b2 = request('b2', 'B', 4)

test('requests of one session stand together, in order of the oldest', () => {
  expect(groupBySession([a1, b1, a2])).toEqual([
    { sessionId: 'A', requestIds: ['a1', 'a2'] },
    { sessionId: 'B', requestIds: ['b1'] },
  ])
})

test('a frozen order keeps ended cards in place and appends new ones', () => {
  const shown = groupBySession([a1, b1])
  expect(orderCards([b1, a2], shown, true)).toEqual([
    { sessionId: 'A', requestIds: ['a1'] },
    { sessionId: 'B', requestIds: ['b1'] },
    { sessionId: 'A', requestIds: ['a2'] },
  ])
})

test('a new request of the last session joins its group even when frozen', () => {
  expect(orderCards([a1, b1, b2], groupBySession([a1, b1]), true)).toEqual([
    { sessionId: 'A', requestIds: ['a1'] },
    { sessionId: 'B', requestIds: ['b1', 'b2'] },
  ])
})

test('a thawed order is the natural one again', () => {
  const frozen = orderCards([b1, a2], groupBySession([a1, b1]), true)
  expect(orderCards([b1, a2], frozen, false)).toEqual(groupBySession([b1, a2]))
})

test('an unchanged order is the same object, so that nothing is drawn again', () => {
  const shown = groupBySession([a1, b1])
  expect(orderCards([a1, b1], shown, false)).toBe(shown)
  expect(orderCards([b1], shown, true)).toBe(shown)
})
