import { describe, expect, it } from 'vitest'
import { giveSlab, SLAB_BYTES, takeSlab, type Slab } from './slab.ts'

describe('memory for messages', () => {
  it('is used again, the smallest that is large enough, and by one at a time', () => {
    const usual = takeSlab(10)
    const large = takeSlab(SLAB_BYTES + 1)
    expect([usual.bytes.length, large.bytes.length]).toEqual([SLAB_BYTES, 2 * SLAB_BYTES])
    giveSlab(large)
    giveSlab(usual)
    // A small message never takes a large slab.
    const small = [takeSlab(10), takeSlab(10)]
    expect(small[0] === usual).toBe(true)
    expect(small[1]?.bytes).toHaveLength(SLAB_BYTES)
    expect(takeSlab(SLAB_BYTES + 1) === large).toBe(true)
    expect(takeSlab(SLAB_BYTES + 1) === large).toBe(false)
    small.forEach(giveSlab)
    giveSlab(large)
  })

  it('is kept up to 4 MiB, and none that was made for one huge message', () => {
    const many: Slab[] = Array.from({ length: 40 }, () => takeSlab(SLAB_BYTES))
    const huge = takeSlab(5 * 1024 * 1024)
    expect(huge.bytes).toHaveLength(5 * 1024 * 1024)
    giveSlab(huge)
    expect(takeSlab(5 * 1024 * 1024) === huge).toBe(false)
    many.forEach(giveSlab)
    const again = Array.from({ length: 40 }, () => takeSlab(SLAB_BYTES))
    expect(again.filter((slab) => many.includes(slab)).length).toBeLessThanOrEqual(16)
    expect(again.filter((slab) => many.includes(slab)).length).toBeGreaterThan(8)
  })
})
