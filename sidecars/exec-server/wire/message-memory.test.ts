import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { giveMessageMemory, takeMessageMemory } from './message-memory.ts'

const MIB = 1024 * 1024

describe('memory for long messages', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => {
    vi.runAllTimers()
    vi.useRealTimers()
  })

  it('is used again, by one at a time, for messages that fit', () => {
    const first = takeMessageMemory(3 * MIB - 5)
    expect(first).toHaveLength(3 * MIB - 5)
    giveMessageMemory(first.subarray(10, 20))
    const again = takeMessageMemory(3 * MIB)
    expect(again.buffer).toBe(first.buffer)
    expect(again).toHaveLength(3 * MIB)
    expect(takeMessageMemory(2 * MIB).buffer).not.toBe(first.buffer)
    giveMessageMemory(again)
    expect(takeMessageMemory(3 * MIB + 1).buffer).not.toBe(first.buffer)
  })

  it('that is given back twice is lent once', () => {
    const memory = takeMessageMemory(2 * MIB)
    giveMessageMemory(memory)
    const again = takeMessageMemory(2 * MIB)
    giveMessageMemory(memory)
    giveMessageMemory(again)
    const users = [takeMessageMemory(2 * MIB), takeMessageMemory(2 * MIB)]
    expect(users.filter(({ buffer }) => buffer === memory.buffer)).toHaveLength(1)
  })

  it('is not taken from strangers, nor for small messages, nor kept when it is huge or for long', () => {
    const strange = Buffer.alloc(2 * MIB)
    giveMessageMemory(strange)
    expect(takeMessageMemory(2 * MIB).buffer).not.toBe(strange.buffer)
    const huge = takeMessageMemory(40 * MIB)
    giveMessageMemory(huge)
    expect(takeMessageMemory(40 * MIB).buffer).not.toBe(huge.buffer)
    const usual = takeMessageMemory(2 * MIB)
    giveMessageMemory(usual)
    expect(takeMessageMemory(1_000).buffer).not.toBe(usual.buffer)
    vi.runAllTimers()
    expect(takeMessageMemory(2 * MIB).buffer).not.toBe(usual.buffer)
  })
})
