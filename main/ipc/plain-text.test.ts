import fc from '../../sidecars/testing/fast-check.ts'
import { expect, test } from 'vitest'
import { PlainText } from './plain-text.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
function whole(text: string): string {
  const plain = new PlainText()
  return plain.push(bytes(text)) + plain.end()
}

test('colours, titles and cursor moves go, text stays', () => {
  expect(whole('\x1b[1;32mok\x1b[0m \x1b]0;title\x07done\x1b(B\x1b[2K\r\nnext\x1b7\x1b8')).toBe('ok done\nnext')
})

test('a progress line that overwrites itself becomes lines', () => {
  expect(whole('10%\r20%\r\n')).toBe('10%\n20%\n')
})

test('an escape that never ends is given up, its text kept', () => {
  expect(whole('a\x1b[31')).toBe('a[31')
})

test('the cut between pieces does not matter, not even inside a character or a sequence', () => {
  const piece = fc.constantFrom(
    'a',
    'é',
    '漢',
    '\x1b[31m',
    '\x1b]8;;https://x\x1b\\',
    '\x1b(B',
    '\r\n',
    '\n',
    '\r',
    '😀',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat(60), { maxLength: 6 }), (pieces, cuts) => {
      const all = bytes(pieces.join(''))
      const plain = new PlainText()
      const edges = [0, ...cuts.filter((c) => c < all.length).sort((a, b) => a - b), all.length]
      let text = ''
      for (let i = 1; i < edges.length; i++) text += plain.push(all.subarray(edges[i - 1], edges[i]))
      expect(text + plain.end()).toBe(whole(pieces.join('')))
    }),
  )
})
