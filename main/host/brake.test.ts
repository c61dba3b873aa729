import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Brake } from './brake.ts'

const MIB = 1024 * 1024
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('stops a process whose reader is far behind, also one that takes nothing at all, and lets it go on', () => {
  const sent: string[] = []
  let produced = 0
  const brake = new Brake(
    async (signal) => sent.push(signal),
    () => produced,
  )
  produced = 64 * MIB
  vi.advanceTimersByTime(200)
  expect(sent).toEqual([])
  produced += 1
  vi.advanceTimersByTime(200)
  expect(sent).toEqual(['stop'])
  brake.taken(56 * MIB)
  expect(sent).toEqual(['stop'])
  brake.taken(2)
  expect(sent).toEqual(['stop', 'continue'])
  brake.release()
  expect(vi.getTimerCount()).toBe(0)
})
