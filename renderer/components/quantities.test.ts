import { expect, test } from 'vitest'
import { countOf, formatAgo, formatBytes, formatCount, formatDuration, formatSpan } from './quantities.ts'

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [1_234_567, '1.2 MB'],
  [999_999, '1.0 MB'],
  [104_857_604, '105 MB'],
  [5e12, '5.0 TB'],
])('%i bytes read as %s', (sizeBytes, text) => expect(formatBytes(sizeBytes)).toBe(text))

test.each([
  [-5_000, '0:00'],
  [42_900, '0:42'],
  [725_000, '12:05'],
  [10_807_000, '3:00:07'],
  [187_200_000, '2 d 4 h'],
])('%i ms read as %s', (durationMs, text) => expect(formatDuration(durationMs)).toBe(text))

test('spans below a minute are exact', () => {
  expect([formatSpan(37.6), formatSpan(1_449), formatSpan(61_000)]).toEqual(['38 ms', '1.4 s', '1:01'])
})

test('times are relative up to a day, then absolute', () => {
  const now = new Date(2026, 2, 14, 12, 0, 0).getTime()
  expect([0, 4_000, 720_000, 10_800_000, -9_000].map((ago) => formatAgo(now - ago, now))).toEqual([
    'now',
    '4 s ago',
    '12 min ago',
    '3 h ago',
    'now',
  ])
  expect(formatAgo(now - 90_000_000, now)).toBe('2026-03-13')
})

test('counts agree with their noun', () => {
  expect([
    countOf(1, 'process', 'processes'),
    countOf(12_000, 'process', 'processes'),
    formatCount(104_857_604),
  ]).toEqual(['1 process', '12,000 processes', '104,857,604'])
})
