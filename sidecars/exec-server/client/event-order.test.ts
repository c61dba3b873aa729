import fc from '../../testing/fast-check.ts'
import { expect, it } from 'vitest'
import { EventOrder } from './event-order.ts'
import type { OutputGap, ProcessEvent } from './process-event.ts'

const output = (seq: number): ProcessEvent => ({
  kind: 'output',
  seq,
  stream: 'stdout',
  bytes: Buffer.from(String(seq)),
})

function collecting() {
  const delivered: (ProcessEvent | OutputGap)[] = []
  return { delivered, order: new EventOrder((event) => delivered.push(event)) }
}
const numbersOf = (events: (ProcessEvent | OutputGap)[]) =>
  events.map((e) => (e.kind === 'gap' ? `${e.fromSeq}-${e.toSeq}` : String(e.seq)))

it.each([
  ['in order', [1, 2, 3], ['1', '2', '3']],
  ['backwards', [3, 2, 1], ['1', '2', '3']],
  ['twice', [1, 1, 2, 1, 2, 3], ['1', '2', '3']],
  ['with a hole', [1, 3, 4], ['1']],
])('events that arrive %s are delivered once and in order', (_, seqs, expected) => {
  const { delivered, order } = collecting()
  for (const seq of seqs) order.add(output(seq))
  expect(numbersOf(delivered)).toEqual(expected)
})

it('gives up what is missing and says which numbers that were', () => {
  const { delivered, order } = collecting()
  for (const seq of [1, 4, 7]) order.add(output(seq))
  order.skipTo(7)
  expect(numbersOf(delivered)).toEqual(['1', '2-3', '4', '5-6', '7'])
  order.add(output(2))
  expect(numbersOf(delivered)).toHaveLength(5)
})

it('lets output beyond its bound go, to be read again, and keeps the exit', () => {
  const { delivered, order } = collecting()
  for (let seq = 2; seq < 6000; seq++) order.add(output(seq))
  order.add({ kind: 'exited', seq: 6000, exitCode: 0, sandboxDenied: false })
  order.add(output(1))
  expect(delivered.length).toBeLessThan(5000)
  expect(order.holds('exited')).toBe(true)
  expect(order.hasHole).toBe(true)
  expect(order.nextSeq).toBe(delivered.length + 1)
})

it('knows of a hole also when nothing waits behind it', () => {
  const { order } = collecting()
  for (let seq = 2; seq < 5000; seq++) order.add(output(seq))
  order.add(output(1))
  expect(order.hasHole).toBe(true)
  expect(order.holeEndSeq).toBe(5000)
})

it('any order of arrival, with any repeats, gives the same sequence', () => {
  const arrivals = fc.integer({ min: 1, max: 60 }).chain((count) =>
    fc.tuple(
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, i) => i + 1),
        { minLength: count },
      ),
      fc.array(fc.integer({ min: 1, max: count }), { maxLength: 30 }),
    ),
  )
  fc.assert(
    fc.property(arrivals, ([shuffled, repeats]) => {
      const { delivered, order } = collecting()
      for (const seq of [...repeats.slice(0, 10), ...shuffled, ...repeats]) order.add(output(seq))
      expect(numbersOf(delivered)).toEqual(shuffled.map((_, i) => String(i + 1)))
    }),
  )
})
