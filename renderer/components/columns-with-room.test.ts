import { expect, test } from 'vitest'
import { stepFor } from './columns-with-room.ts'

test('a table shows the columns whose least width it has, and all of them while it has no layout', () => {
  const steps = [0, 580, 1000]
  expect([0, 300, 579, 580, 999, 1000, 5000].map((widthPx) => stepFor(widthPx, steps))).toEqual([
    Number.POSITIVE_INFINITY,
    0,
    0,
    580,
    580,
    1000,
    1000,
  ])
})
