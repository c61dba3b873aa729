import { expect, test } from 'vitest'
import { plainText } from './plain-text.ts'

const progress = `${Array.from({ length: 1_000 }, (_, i) => `\rReceiving ${i + 1}`).join('')}`

test.each([
  ['plain', 'plain'],
  ['a\r', 'a'],
  ['abcd\rabX', 'abXd'],
  ['ls\b\brm x', 'rm x'],
  [progress, 'Receiving 1000'],
  ['\x1b[1;31mred\x1b[0m', 'red'],
  ['\x1b]0;Gatehouse - approved\x07title', 'title'],
  ['\x1b]52;c;ZWNobw==\x1b\\clip', 'clip'],
  ['\x1b]8;;https://x.test\x07link\x1b]8;;\x07', 'link'],
  ['a\x1b[', 'a'],
  ['bell\x07 tab\tkept', 'bell tab\tkept'],
  ['\x1b(Bcharset', 'charset'],
])('E48 %j leaves %j', (line, text) => {
  expect(plainText(line)).toBe(text)
})
