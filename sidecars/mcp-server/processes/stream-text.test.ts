import fc from '../../testing/fast-check.ts'
import { expect, test } from 'vitest'
import { StreamText, strayLength, unfinishedLength } from './stream-text.ts'

test('E01 characters cut over interleaved writes of two streams come out whole', () => {
  const text = new StreamText()
  const seen = { stdout: '', stderr: '' }
  const writes: [keyof typeof seen, number][] = [
    ['stdout', 0xe2],
    ['stderr', 0xf0],
    ['stdout', 0x82],
    ['stderr', 0x9f],
    ['stdout', 0xac],
    ['stderr', 0x98],
    ['stderr', 0x80],
    ['stdout', 0x0a],
  ]
  for (const [stream, byte] of writes) seen[stream] += text.push(stream, Uint8Array.of(byte))
  expect({ ...seen, rest: text.end(), isLossy: text.isLossy }).toEqual({
    stdout: '€\n',
    stderr: '😀',
    rest: '',
    isLossy: false,
  })
})

test('E03 NUL and bytes that are not UTF-8 are shown as something visible and end nothing', () => {
  const text = new StreamText()
  expect(text.push('stdout', Buffer.from([0x61, 0x00, 0x62, 0xff, 0xfe, 0x63, 0x0a]))).toBe('a\u2400b\ufffd\ufffdc\n')
  expect(text.isLossy).toBe(true)
})

test('a character that is never finished is shown when the stream ends', () => {
  const text = new StreamText()
  expect(text.push('pty', Buffer.from([0x41, 0xf0, 0x9f]))).toBe('A')
  expect(text.end()).toBe('\ufffd')
})

test('whatever the cuts, the text is that of the whole', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(40)), (whole, cuts) => {
      const bytes = Buffer.from(whole, 'utf8')
      const text = new StreamText()
      let at = 0
      let shown = ''
      for (const length of cuts) {
        shown += text.push('stdout', bytes.subarray(at, at + length))
        at += length
      }
      shown += text.push('stdout', bytes.subarray(at)) + text.end()
      expect(shown).toBe(whole.replaceAll('\0', '\u2400'))
    }),
  )
})

test.each([
  [[0x41], 0],
  [[0xe2], 1],
  [[0xe2, 0x82], 2],
  [[0xe2, 0x82, 0xac], 0],
  [[0xf0, 0x9f, 0x98], 3],
  [[0xff], 0],
  [[0x80], 0],
])('%j leaves %i bytes unfinished', (bytes, expected) => {
  expect(unfinishedLength(Uint8Array.from(bytes))).toBe(expected)
})

test('continuation bytes at the start are strays, at most three', () => {
  expect(strayLength(Uint8Array.of(0x82, 0xac, 0x41))).toBe(2)
  expect(strayLength(Uint8Array.of(0x80, 0x80, 0x80, 0x80))).toBe(3)
  expect(strayLength(Uint8Array.of(0x41))).toBe(0)
})
