import fc from '../../testing/fast-check.ts'
import { expect, it } from 'vitest'
import { fuzzyMatch } from './fuzzy-match.ts'

const order = (query: string, paths: string[]) =>
  paths
    .map((path) => ({ path, score: fuzzyMatch(path, query)?.score ?? -1 }))
    .sort((a, b) => b.score - a.score)
    .map(({ path }) => path)

it('finds letters in order, of either case, and nothing else', () => {
  expect(fuzzyMatch('src/Main.ts', 'smt')?.indices).toEqual([0, 4, 9])
  expect(fuzzyMatch('src/main.ts', 'MAIN')?.indices).toEqual([4, 5, 6, 7])
  expect(fuzzyMatch('src/main.ts', 'tsm')).toBeNull()
  expect(fuzzyMatch('a', '')).toEqual({ score: 0, indices: [] })
})

it('puts what was meant first', () => {
  expect(order('main', ['domain/x/i.ts', 'src/main.ts', 'm/a/i/n.ts'])[0]).toBe('src/main.ts')
  expect(order('rt', ['src/porter.ts', 'src/read-thread.ts'])[0]).toBe('src/read-thread.ts')
  expect(order('app', ['app.ts', 'deep/down/app.ts'])[0]).toBe('app.ts')
})

it('gives places that spell the query, for any text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), fc.string({ maxLength: 6 }), (path, query) => {
      const found = fuzzyMatch(path, query)
      if (!found) return
      const spelled = found.indices.map((i) => path[i]!.toLowerCase()).join('')
      expect(spelled).toBe(query.toLowerCase())
      expect(found.indices).toEqual([...new Set(found.indices)].sort((a, b) => a - b))
    }),
  )
})
