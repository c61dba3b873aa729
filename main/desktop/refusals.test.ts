import { expect, test } from 'vitest'
import { Refusals, type Refusal } from './refusals.ts'

test('a refusal is kept, cut to a readable length, and recorded', () => {
  const recorded: Refusal[] = []
  const refusals = new Refusals((refusal) => recorded.push(refusal))
  refusals.add('navigation', `https://example.org/${'x'.repeat(600)}`, 5)
  expect(refusals.list()).toEqual(recorded)
  expect(recorded[0]?.detail).toHaveLength(500)
})

test('a flood is kept short and recorded at most sixty times a minute', () => {
  let recorded = 0
  const refusals = new Refusals(() => recorded++)
  for (let i = 0; i < 1000; i++) refusals.add('request', String(i), 100_000 + i)
  expect(recorded).toBe(60)
  expect(refusals.list()).toHaveLength(200)
  refusals.add('request', 'a minute later', 161_000)
  expect(recorded).toBe(61)
})
