import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ReaderPace } from './reader-pace.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function paced(leadBytes: number) {
  const state = { total: 0, isHeld: false }
  const pace = new ReaderPace(
    leadBytes,
    () => state.total,
    () => (state.isHeld = true),
    () => (state.isHeld = false),
  )
  const print = (bytes: number) => {
    state.total += bytes
    pace.check()
  }
  return { state, pace, print }
}

describe('a reader by pages', () => {
  it('is waited for when output runs too far ahead, until it has caught up', () => {
    const { state, pace, print } = paced(100)
    print(1_000)
    expect(state.isHeld).toBe(false)
    pace.asked(950)
    print(60)
    expect(state.isHeld).toBe(true)
    pace.asked(1_000)
    expect(state.isHeld).toBe(false)
  })

  it('is not waited for any more when it has stopped asking', () => {
    const { state, pace, print } = paced(100)
    pace.asked(0)
    print(500)
    expect(state.isHeld).toBe(true)
    vi.advanceTimersByTime(1_500)
    pace.asked(100)
    vi.advanceTimersByTime(1_500)
    expect(state.isHeld).toBe(true)
    vi.advanceTimersByTime(600)
    expect(state.isHeld).toBe(false)
    print(10_000)
    expect(state.isHeld).toBe(false)
  })
})
