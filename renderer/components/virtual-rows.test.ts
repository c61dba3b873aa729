import { expect, test } from 'vitest'
import { scrollToShow, virtualRange } from './virtual-rows.ts'

test('only the rows in view are drawn, whatever the number', () => {
  const range = virtualRange({ count: 100_000, rowPx: 32, scrollPx: 32_000, viewPx: 640 })
  expect(range).toEqual({ start: 992, end: 1029, totalPx: 3_200_000, offsetPx: 31_744 })
})

test('both ends of the list are reached', () => {
  expect(virtualRange({ count: 5, rowPx: 32, scrollPx: 0, viewPx: 640 })).toMatchObject({ start: 0, end: 5 })
  expect(virtualRange({ count: 1_000, rowPx: 32, scrollPx: 31_360, viewPx: 640 })).toMatchObject({ end: 1_000 })
  expect(virtualRange({ count: 0, rowPx: 32, scrollPx: 0, viewPx: 640 })).toMatchObject({ start: 0, end: 0 })
})

test('a list too tall for the browser is compressed and its last row still reachable', () => {
  const count = 2_000_000
  const geometry = { count, rowPx: 18, viewPx: 600 }
  const bottom = virtualRange({ ...geometry, scrollPx: 16_000_000 })
  expect(bottom.totalPx).toBe(16_000_000)
  expect(bottom.end).toBe(count)
  const scrollPx = scrollToShow(count - 1, { ...geometry, scrollPx: 0 })
  expect(virtualRange({ ...geometry, scrollPx: scrollPx ?? 0 }).end).toBe(count)
})

test('a row in view needs no scrolling; one above or below does', () => {
  const geometry = { count: 100, rowPx: 32, scrollPx: 320, viewPx: 320 }
  expect([12, 3, 40].map((index) => scrollToShow(index, geometry))).toEqual([null, 96, 992])
})
