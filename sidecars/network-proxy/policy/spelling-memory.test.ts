import { describe, expect, it } from 'vitest'
import { SpellingMemory } from './spelling-memory.ts'

function lengths(max: number) {
  const read: string[] = []
  const memory = new SpellingMemory((text) => {
    read.push(text)
    if (text === '') throw new Error('nothing')
    return text.length
  }, max)
  return { memory, read }
}

describe('SpellingMemory', () => {
  it('reads a spelling once', () => {
    const { memory, read } = lengths(10)
    expect([memory.meaningOf('abc'), memory.meaningOf('abc'), memory.meaningOf('ABC')]).toEqual([3, 3, 3])
    expect(read).toEqual(['abc', 'ABC'])
  })

  it('forgets everything when it is full, and goes on', () => {
    const { memory, read } = lengths(2)
    for (const text of ['a', 'b', 'c', 'a']) memory.meaningOf(text)
    expect(read).toEqual(['a', 'b', 'c', 'a'])
    memory.meaningOf('c')
    expect(read).toHaveLength(4)
  })

  it('remembers neither failures nor long texts', () => {
    const { memory, read } = lengths(10)
    const long = 'x'.repeat(257)
    for (let n = 0; n < 2; n++) {
      expect(() => memory.meaningOf('')).toThrow('nothing')
      expect(memory.meaningOf(long)).toBe(257)
    }
    expect(read).toEqual(['', long, '', long])
  })
})
