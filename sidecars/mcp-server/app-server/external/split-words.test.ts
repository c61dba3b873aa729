import fc from '../../../testing/fast-check.ts'
import { expect, test } from 'vitest'
import { shellJoin } from '../../rollout/shell-join.ts'
import { splitWords } from './split-words.ts'

test('words that were joined come back as they were', () => {
  const word = fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '$', '\\', '\n', ';', 'é', '*') })
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (words) => {
      const joined = words.map((one) => (one === '' ? "''" : shellJoin([one]))).join(' ')
      expect(splitWords(joined)).toEqual(words)
    }),
  )
})

test.each([
  [`/bin/bash -lc "echo it's"`, ['/bin/bash', '-lc', `echo it's`]],
  [`a\\ b 'c d'"e"`, ['a b', 'c de']],
])('%s', (line, words) => expect(splitWords(line)).toEqual(words))

test.each(['a; b', 'a | b', 'echo $HOME', '"a $(b)"', "'open", 'a > b', '', 'ls *'])(
  'what a shell would not take for plain words is not guessed at: %s',
  (line) => expect(splitWords(line)).toBeNull(),
)
