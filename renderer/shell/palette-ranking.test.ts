import { expect, test } from 'vitest'
import { bestMatches, rank } from './palette-ranking.ts'

const best = (query: string, texts: string[]): string[] => bestMatches(query, texts, (text) => text, 10)

test('letters must occur in order', () => {
  expect(rank('gsp', 'git push')).toBeNull()
  expect(rank('gps', 'git push')).not.toBeNull()
})

test('letters strewn over a sentence are no match', () => {
  expect(best('git', ['Go to the previous request', 'git push'])).toEqual(['git push'])
})

test('initials are a match, a whole word a better one', () => {
  expect(best('rul', ['Read unusual lines', 'Open Rules'])).toEqual(['Open Rules', 'Read unusual lines'])
})

test('the start of a word beats its middle', () => {
  expect(best('net', ['Open cabinet', 'Open Network'])).toEqual(['Open Network', 'Open cabinet'])
})

test('nothing typed keeps the given order', () => {
  expect(best('', ['b', 'a', 'c'])).toEqual(['b', 'a', 'c'])
})
