import { describe, expect, it } from 'vitest'
import { ApiKey, type ReadBytes } from './api-key.ts'

/** Gives `text` in pieces of `pieceBytes`, then the end. */
function input(text: string, pieceBytes = 4096): ReadBytes {
  const bytes = Buffer.from(text, 'latin1')
  let at = 0
  return (buffer, offset, length) => {
    const count = bytes.copy(buffer, offset, at, at + Math.min(length, pieceBytes))
    at += count
    return count
  }
}

describe('ApiKey', () => {
  it.each([
    ['key', 'key'],
    ['key\n', 'key'],
    ['key\r\n', 'key'],
    ['key\nrest that is not read', 'key'],
    ['a-B_9', 'a-B_9'],
  ])('reads %j', (text, key) => {
    for (const pieceBytes of [1, 3, 4096])
      expect(ApiKey.read(input(text, pieceBytes)).authorization()).toBe(`Bearer ${key}`)
  })

  it.each(['', '\n', '\r\n', 'a.b', 'a b', 'a\0b', 'ä'])('refuses %j', (text) => {
    expect(() => ApiKey.read(input(text))).toThrow('key on stdin')
  })

  it('takes 1016 bytes and not one more', () => {
    expect(ApiKey.read(input('k'.repeat(1016))).authorization()).toHaveLength(1023)
    expect(ApiKey.read(input(`${'k'.repeat(1016)}\n`)).authorization()).toHaveLength(1023)
    expect(() => ApiKey.read(input('k'.repeat(1017)))).toThrow('too large')
    expect(() => ApiKey.read(input('k'.repeat(5000)))).toThrow('too large')
  })

  it('does not show itself and can be wiped', () => {
    const key = ApiKey.read(input('secret'))
    expect(`${String(key)} ${JSON.stringify({ key })}`).not.toContain('secret')
    key.wipe()
    expect(key.authorization()).not.toContain('secret')
  })
})
