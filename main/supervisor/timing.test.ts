import { expect, test } from 'vitest'
import { backoffMs, DEFAULT_TIMING } from './timing.ts'

test('the wait before a restart doubles from 250 ms to 10 s', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 20].map((failures) => backoffMs(failures, DEFAULT_TIMING))
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000])
})
