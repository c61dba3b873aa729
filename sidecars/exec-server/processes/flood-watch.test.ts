import { describe, expect, it } from 'vitest'
import { FloodWatch, READ_BYTES } from './flood-watch.ts'

/** After which of the reads, counted from 1, the watch said that they were a flood. */
function floodsIn(reads: readonly number[], waitsPerRead: number): number[] {
  let waits = 0
  const watch = new FloodWatch(0.5, () => waits)
  return reads.flatMap((bytes, index) => {
    waits += waitsPerRead
    return watch.isFlood(bytes) ? [index + 1] : []
  })
}
const full = (reads: number) => Array.from({ length: reads }, () => READ_BYTES)

describe('the watch for floods', () => {
  it('takes 128 KiB of full reads that waited for one, each time anew', () => {
    expect(floodsIn(full(70), 1)).toEqual([33, 66])
    expect(floodsIn(full(70), 0.5)).toEqual([33, 66])
  })

  it('leaves them where they are when most of them did not wait', () => {
    expect(floodsIn(full(200), 0.4)).toEqual([])
  })

  it('counts from the start after a read that was not full', () => {
    expect(floodsIn([...full(32), READ_BYTES - 1, ...full(33)], 1)).toEqual([66])
  })
})
