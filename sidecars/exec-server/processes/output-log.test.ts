import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../testing/fast-check.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { OutputBlock } from './output-block.ts'
import { OutputLog, type OutputChunk } from './output-log.ts'
import { OutputSpool } from './output-spool.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-log-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function logWith(limitBytes: number) {
  const failures: Error[] = []
  const pressure: boolean[] = []
  const spool = limitBytes > 0 ? new OutputSpool(join(folder, `log-${Math.random()}`), limitBytes) : undefined
  const log = new OutputLog(spool, {
    onPressure: (isPressed) => pressure.push(isPressed),
    onSpoolFailure: (error) => failures.push(error),
  })
  return { log, failures, pressure }
}
/** Fills a chunk so that each place of the output has its own content. */
function content(startByte: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  for (let i = 0; i < size; i++) bytes[i] = (startByte + i) % 251
  return bytes
}
/** As a pipe's reader does: large chunks lie in memory that is used again. */
function append(log: OutputLog, size: number): OutputChunk {
  const bytes = content(log.totalBytes, size)
  if (size < 16_384 || size > 65_536) return log.append('stdout', bytes, undefined)
  const block = new OutputBlock()
  bytes.copy(block.bytes)
  return log.append('stdout', block.bytes.subarray(0, size), block)
}
const settled = (log: OutputLog) => vi.waitFor(() => expect(log.isSettled).toBe(true), { interval: 2, timeout: 20_000 })

async function readAll(log: OutputLog, maxBytes: number, afterSeq = 0) {
  const chunks: { seq: number; startByte: number; length: number }[] = []
  const gaps: unknown[] = []
  for (let cursor = afterSeq; ;) {
    const page = await log.read(cursor, maxBytes, 1_000)
    if (page.gap) gaps.push(page.gap)
    if (page.chunks.length === 0) return { chunks, gaps }
    for (const { seq, startByte, bytes } of page.chunks) {
      expect(bytes.equals(content(startByte, bytes.length))).toBe(true)
      chunks.push({ seq, startByte, length: bytes.length })
      cursor = seq
    }
  }
}

describe('the output of a process', () => {
  it('gives every byte once and in order to any reader, whatever moves to disk meanwhile', async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant('print' as const),
          size: fc.integer({ min: 1, max: 65_536 }),
          times: fc.integer({ min: 1, max: 12 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('event' as const) }) },
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('read' as const), maxBytes: fc.integer({ min: 0, max: 900_000 }) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('spill' as const) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { log, failures } = logWith(1024 * 1024 * 1024)
        const all: { seq: number; startByte: number; length: number }[] = []
        const seen: { seq: number; startByte: number; length: number }[] = []
        const reads: Promise<void>[] = []
        let cursor = 0
        for (const s of steps) {
          if (s.do === 'print')
            for (let i = 0; i < s.times; i++) {
              const { seq, startByte, bytes } = append(log, s.size)
              all.push({ seq, startByte, length: bytes.length })
            }
          else if (s.do === 'event') log.takeSeq()
          else if (s.do === 'spill') void log.rest()
          else if (s.do === 'turn') await new Promise((resolve) => setImmediate(resolve))
          else {
            const page = await log.read(cursor, s.maxBytes, 1_000)
            expect(page.gap).toBeUndefined()
            for (const { seq, startByte, bytes } of page.chunks) {
              expect(bytes.equals(content(startByte, bytes.length))).toBe(true)
              seen.push({ seq, startByte, length: bytes.length })
              cursor = seq
            }
          }
        }
        await Promise.all(reads)
        seen.push(...(await readAll(log, 300_000, cursor)).chunks)
        expect(seen).toEqual(all)
        expect(failures).toEqual([])
        await settled(log)
        await log.dispose()
      }),
      { numRuns: 40 },
    )
  }, 60_000)

  it('at rest holds neither memory nor files, and can be read all the same', async () => {
    const { log } = logWith(64 * 1024 * 1024)
    for (let i = 0; i < 50; i++) append(log, 65_536)
    const files = () => readdirSync('/proc/self/fd').length
    await log.rest()
    expect(log.memoryBytes).toBe(0)
    const before = files()
    expect((await readAll(log, 300_000)).chunks).toHaveLength(50)
    append(log, 1_000)
    expect((await readAll(log, 300_000)).chunks).toHaveLength(51)
    expect(files()).toBe(before)
    await log.dispose()
    expect(readdirSync(folder)).toEqual([])
  })

  it('keeps about a megabyte in memory and the rest on disk', async () => {
    const { log } = logWith(64 * 1024 * 1024)
    for (let i = 0; i < 160; i++) append(log, 65_536)
    await settled(log)
    expect(log.memoryBytes).toBeLessThan(1_700_000)
    const { chunks, gaps } = await readAll(log, 65_536)
    expect(chunks).toHaveLength(160)
    expect(gaps).toEqual([])
    expect(readdirSync(folder)).not.toEqual([])
    await log.dispose()
    expect(readdirSync(folder)).toEqual([])
  })

  it('E08 drops the oldest and tells a reader with an old cursor exactly what it missed', async () => {
    const { log } = logWith(8 * 1024 * 1024)
    for (let i = 0; i < 400; i++) {
      append(log, 65_536)
      if (i % 8 === 0) await settled(log)
    }
    await settled(log)
    const { chunks, gaps } = await readAll(log, 1_000_000)
    const first = chunks[0]
    expect(first?.seq).toBeGreaterThan(200)
    expect(gaps).toEqual([{ fromSeq: 1, toSeq: (first?.seq ?? 0) - 1, bytes: first?.startByte }])
    expect(chunks.at(-1)?.seq).toBe(400)
    // What is kept has no holes.
    chunks.forEach((chunk, i) => expect(chunk.seq).toBe((first?.seq ?? 0) + i))
    expect((await log.read(400, 1, 1)).gap).toBeUndefined()
    await log.dispose()
  })

  it('a reader inside the lost range misses only what it has not read', async () => {
    const { log } = logWith(8 * 1024 * 1024)
    for (let i = 0; i < 400; i++) {
      append(log, 65_536)
      if (i % 8 === 0) await settled(log)
    }
    const { gap } = await log.read(100, 1, 1)
    expect(gap?.fromSeq).toBe(101)
    expect(gap?.bytes).toBeLessThanOrEqual(((gap?.toSeq ?? 0) - 80) * 65_536)
    expect(gap?.bytes).toBeGreaterThanOrEqual(((gap?.toSeq ?? 0) - 120) * 65_536)
    await log.dispose()
  })

  it('without a spool keeps the newest and reports the rest as missing', async () => {
    const { log } = logWith(0)
    for (let i = 0; i < 100; i++) append(log, 65_536)
    const { chunks, gaps } = await readAll(log, 10_000_000)
    expect(chunks.length).toBeGreaterThan(15)
    expect(chunks.length).toBeLessThan(25)
    expect(gaps).toHaveLength(1)
  })

  it('E106 goes on without the spool when the disk refuses, and says so', async () => {
    const { log, failures } = logWith(64 * 1024 * 1024)
    rmSync(folder, { recursive: true, force: true })
    for (let i = 0; i < 60; i++) append(log, 65_536)
    await settled(log)
    expect(failures).toHaveLength(1)
    expect(failures[0]?.message).toMatch(/ENOENT/)
    append(log, 10)
    const { chunks, gaps } = await readAll(log, 10_000_000)
    expect(chunks.at(-1)?.seq).toBe(61)
    expect(gaps).toHaveLength(1)
    mkdirSync(folder, { recursive: true })
  })

  it('asks to be spared when output comes faster than the disk takes it, and says when that is over', async () => {
    const { log, pressure } = logWith(256 * 1024 * 1024)
    for (let i = 0; i < 200; i++) append(log, 65_536)
    expect(pressure).toEqual([true])
    await settled(log)
    expect(pressure).toEqual([true, false])
    await log.dispose()
  })

  it('finds the newest output that fits into one answer', async () => {
    const { log } = logWith(64 * 1024 * 1024)
    for (let i = 0; i < 100; i++) append(log, 65_536)
    await settled(log)
    const all = log.cursorForNewest(0, 100_000_000, 100_000)
    expect(all).toBe(0)
    const few = log.cursorForNewest(0, 200_000, 100_000)
    expect(few).toBe(97)
    expect(log.cursorForNewest(98, 200_000, 100_000)).toBe(98)
    expect(log.cursorForNewest(0, 100_000_000, 3)).toBe(97)
    const older = log.cursorForNewest(0, 4_000_000, 100_000)
    expect(older).toBeGreaterThan(30)
    expect(older).toBeLessThan(100)
    await log.dispose()
  })
})
