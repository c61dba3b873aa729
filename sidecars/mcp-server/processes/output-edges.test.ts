import fc from '../../testing/fast-check.ts'
import { expect, test } from 'vitest'
import type { OutputChunk } from '../../exec-server/client/index.ts'
import { OutputEdges } from './output-edges.ts'

function fill(edges: OutputEdges, chunks: (string | Buffer)[], stream: OutputChunk['stream'] = 'stdout'): OutputEdges {
  for (const [at, part] of chunks.entries())
    edges.push({ kind: 'output', seq: at + 1, stream, bytes: Buffer.from(part as string) })
  return edges
}

test('a short output is shown whole, without a gap', () => {
  expect(fill(new OutputEdges(10, 20), ['one ', 'two ', 'three, four, five']).show()).toEqual({
    head: 'one two three, four, five',
    omitted: null,
    tail: '',
    isLossy: false,
  })
})

test('a long output shows its first and last bytes and counts exactly what is left out', () => {
  const shown = fill(new OutputEdges(4, 6), ['0123456789', 'abcdefghij', 'KLMNOPQRST']).show()
  expect(shown).toEqual({
    head: '0123',
    omitted: { bytes: 20, from: { afterSeq: 0, offset: 4, pending: {} } },
    tail: 'OPQRST',
    isLossy: false,
  })
})

test('characters on both edges are left out whole and counted', () => {
  const shown = fill(new OutputEdges(4, 4), ['abc€', 'x'.repeat(50), '€yz']).show()
  expect(shown).toEqual({
    head: 'abc',
    omitted: { bytes: 3 + 50 + 3, from: { afterSeq: 0, offset: 4, pending: { stdout: Buffer.from([0xe2]) } } },
    tail: 'yz',
    isLossy: false,
  })
})

test('one huge chunk fills both edges', () => {
  const shown = fill(new OutputEdges(3, 3), [`abc${'-'.repeat(1_000_000)}xyz`]).show()
  expect(shown).toMatchObject({ head: 'abc', omitted: { bytes: 1_000_000 }, tail: 'xyz' })
})

test('shown and left out bytes always add up', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 30 })), fc.nat(20), fc.nat(20), (chunks, head, tail) => {
      const ascii = chunks.map((chunk) => chunk.replaceAll(/[^ -~]/g, '.'))
      const all = ascii.join('')
      const shown = fill(new OutputEdges(head + 1, tail + 1), ascii).show()
      if (shown.omitted === null) expect(shown.head).toBe(all)
      else {
        expect(all.startsWith(shown.head) && all.endsWith(shown.tail)).toBe(true)
        expect(shown.head.length + shown.omitted.bytes + shown.tail.length).toBe(all.length)
      }
    }),
  )
})
