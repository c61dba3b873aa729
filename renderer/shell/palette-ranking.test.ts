import { expect, test } from 'vitest'
import { bestMatches, rank } from './palette-ranking.ts'

const best = (query: string, texts: string[]): string[] => bestMatches(query, texts, (text) => text, 10)

test('letters must occur in order', () => {
  expect(rank('gsp', 'git push')).toBeNull()
  expect(rank('gps', 'git push')).not.toBeNull()
})

test('a whole word beats scattered letters', () => {
  expect(best('rules', ['Really unusual lines exist sometimes', 'Open Rules'])).toEqual([
    'Open Rules',
    'Really unusual lines exist sometimes',
  ])
})

test('the start of a word beats its middle', () => {
  expect(best('net', ['Open cabinet', 'Open Network'])).toEqual(['Open Network', 'Open cabinet'])
})

test('nothing typed keeps the given order', () => {
  expect(best('', ['b', 'a', 'c'])).toEqual(['b', 'a', 'c'])
})
