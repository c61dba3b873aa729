import { performance as clock } from 'node:perf_hooks'
import { afterEach, describe, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.resetModules()
  vi.restoreAllMocks()
  vi.doUnmock('node:os')
})

/** Turns of the event loop until nothing asks for another at once; each of them is a tenth of a millisecond. */
async function turns(processors: number, calls: [atTurn: number, forMs: number][]): Promise<number> {
  vi.doMock('node:os', () => ({ availableParallelism: () => processors }))
  const { stayAwake } = await import('./stay-awake.ts')
  let turn = 0
  const waiting: (() => void)[] = []
  vi.spyOn(clock, 'now').mockImplementation(() => turn / 10)
  vi.spyOn(globalThis, 'setImmediate').mockImplementation(((act: () => void) => waiting.push(act)) as never)
  for (; turn < 1000; turn++) {
    for (const [atTurn, forMs] of calls) if (atTurn === turn) stayAwake(forMs)
    if (waiting.length === 0) break
    for (const act of waiting.splice(0)) act()
    expect(waiting.length).toBeLessThan(2)
  }
  return turn
}

describe('staying awake', () => {
  it('lasts as long as was asked for', async () => {
    expect(await turns(2, [[0, 0.3]])).toBe(4)
  })

  it('is prolonged by whoever asks meanwhile, and goes round once for all', async () => {
    const calls: [number, number][] = [
      [0, 0.3],
      [0, 0.3],
      [2, 0.3],
    ]
    expect(await turns(2, calls)).toBe(6)
  })

  it('is not done where there is one processor', async () => {
    expect(await turns(1, [[0, 0.3]])).toBe(0)
  })
})
