import { describe, expect, it } from 'vitest'
import { FloodWatch, READ_BYTES } from './flood-watch.ts'

/** What the watch gave the thread after which of the reads, counted from 1: [read, KiB]. */
function sharesIn(reads: readonly number[], waitsAt: (read: number) => number): [number, number][] {
  let waits = 0
  const watch = new FloodWatch(0.5, () => waits)
  return reads.flatMap((bytes, index) => {
    waits += waitsAt(index + 1)
    const shareBytes = watch.threadShare(bytes)
    return shareBytes > 0 ? [[index + 1, shareBytes / 1024]] : []
  })
}
const everyRead = (waits: number) => () => waits
const full = (reads: number) => Array.from({ length: reads }, () => READ_BYTES)

describe('the watch for floods', () => {
  it('gives the thread what follows 128 KiB of full reads that mostly waited', () => {
    expect(sharesIn(full(34), everyRead(1))).toEqual([[33, 2048]])
    expect(sharesIn(full(34), everyRead(0.5))).toEqual([[33, 2048]])
  })

  it('gives it nothing when most of them did not wait', () => {
    expect(sharesIn(full(200), everyRead(0.4))).toEqual([])
  })

  it('counts from the start after a read that was not full', () => {
    expect(sharesIn([...full(32), READ_BYTES - 1, ...full(33)], everyRead(1))).toEqual([[66, 2048]])
  })

  it('gives more each time, to a bound, and little again when they did not wait in between', () => {
    const shares = [2048, 4096, 8192, 8192].map((share, index) => [33 * (index + 1), share])
    expect(sharesIn(full(33 * 4), everyRead(1))).toEqual(shares)
    expect(sharesIn(full(33 * 4), (read) => (read > 66 && read <= 99 ? 0 : 1))).toEqual([
      [33, 2048],
      [66, 4096],
      [132, 2048],
    ])
  })
})
