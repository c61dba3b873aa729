import { expect, test } from 'vitest'
import { StderrTail } from './stderr-tail.ts'

test('lines are joined over chunks, also inside a character, and the last one without an end counts', () => {
  const tail = new StderrTail()
  const bytes = Buffer.from('one\ntwö\nthree')
  for (const byte of bytes) tail.push(Uint8Array.of(byte))
  expect(tail.lines()).toEqual(['one', 'twö'])
  tail.end()
  expect(tail.lines()).toEqual(['one', 'twö', 'three'])
})

test('the last 200 lines are kept and long lines cut: a flood does not grow it', () => {
  const tail = new StderrTail()
  for (let n = 0; n < 1000; n++) tail.push(Buffer.from(`${n} ${'x'.repeat(10_000)}\n`))
  tail.push(Buffer.from('y'.repeat(1_000_000)))
  tail.end()
  expect(tail.lines()).toHaveLength(200)
  expect(tail.lines(2).map((line) => [line.slice(0, 4), line.length])).toEqual([
    ['999 ', 2000],
    ['yyyy', 2000],
  ])
})
