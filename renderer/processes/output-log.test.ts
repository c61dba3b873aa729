import fc from '../../sidecars/testing/fast-check.ts'
import { expect, test } from 'vitest'
import type { ProcessChunkView } from '../../preload/api.ts'
import { OutputLog, type ReadOutput } from './output-log.ts'
import { MAX_ROW_BYTES, RowSplitter } from './row-splitter.ts'

const encoder = new TextEncoder()

/** A spool in memory with the cursor semantics of `processes.read`. */
class Spool {
  readonly chunks: ProcessChunkView[] = []
  reads = 0
  firstSeq = 1
  add(text: string | Uint8Array, stream: 'stdout' | 'stderr' | 'pty' = 'stdout'): this {
    const bytes = typeof text === 'string' ? encoder.encode(text) : text
    this.chunks.push({ seq: this.chunks.length + 1, stream, bytes })
    return this
  }
  get lastSeq(): number {
    return this.chunks.length
  }
  readonly read: ReadOutput = async (afterSeq, maxBytes) => {
    this.reads += 1
    const from = Math.max(afterSeq, this.firstSeq - 1)
    const dropped = this.chunks.slice(afterSeq, from)
    const chunks: ProcessChunkView[] = []
    let size = 0
    for (const chunk of this.chunks.slice(from)) {
      if (chunks.length > 0 && size + chunk.bytes.length > maxBytes) break
      chunks.push(chunk)
      size += chunk.bytes.length
    }
    const gap =
      dropped.length > 0
        ? { fromSeq: afterSeq + 1, toSeq: from, bytes: dropped.reduce((sum, chunk) => sum + chunk.bytes.length, 0) }
        : null
    return { ok: true, value: { chunks, gap, nextSeq: this.lastSeq + 1 } }
  }
}

async function allRows(log: OutputLog): Promise<string[]> {
  const texts: string[] = []
  for (let at = 0; at < log.rowCount; at += 100) {
    await log.load(at, Math.min(at + 100, log.rowCount))
    for (let row = at; row < Math.min(at + 100, log.rowCount); row++) texts.push(log.row(row)?.text ?? 'MISSING')
  }
  return texts
}
const none = (): void => {}

test('every line is a row, whatever chunks it came in', async () => {
  const spool = new Spool()
  const lines = Array.from({ length: 2_500 }, (_, i) => `line ${i} äöü €`)
  const bytes = encoder.encode(lines.join('\n'))
  for (let at = 0; at < bytes.length; at += 37) spool.add(bytes.slice(at, at + 37))
  const log = new OutputLog(spool.read)
  await log.extend(spool.lastSeq, none)
  expect(log.rowCount).toBe(2_500)
  expect(await allRows(log)).toEqual(lines)
})

test('a page far from the start is read without reading what lies before it', async () => {
  const spool = new Spool()
  for (let i = 0; i < 5_000; i++) spool.add(`${'x'.repeat(200)} ${i}\n`)
  const log = new OutputLog(spool.read)
  await log.extend(spool.lastSeq, none)
  spool.reads = 0
  await log.load(4_900, 4_950)
  expect(log.row(4_949)?.text.endsWith(' 4949')).toBe(true)
  expect(spool.reads).toBe(1)
})

test('the last line shows before it ends, and goes on when more comes', async () => {
  const spool = new Spool().add('one\ntw')
  const log = new OutputLog(spool.read)
  await log.extend(spool.lastSeq, none)
  expect(await allRows(log)).toEqual(['one', 'tw'])
  spool.add('o\nthree\n')
  await log.extend(spool.lastSeq, none)
  expect(await allRows(log)).toEqual(['one', 'two', 'three'])
})

test('E49 a line of five million characters is many rows, none of them cut inside a character', async () => {
  const spool = new Spool()
  for (let i = 0; i < 50; i++) spool.add('€'.repeat(2_000))
  const log = new OutputLog(spool.read)
  await log.extend(spool.lastSeq, none)
  const rows = await allRows(log)
  expect(rows.length).toBe(Math.ceil(300_000 / (MAX_ROW_BYTES - 2)))
  expect(rows.join('')).toBe('€'.repeat(100_000))
  expect(log.row(1)?.continues).toBe(true)
})

test('a dropped range is counted and the rest is shown', async () => {
  const spool = new Spool().add('gone\n').add('gone too\n').add('kept\n')
  spool.firstSeq = 3
  const log = new OutputLog(spool.read)
  await log.extend(spool.lastSeq, none)
  expect(log.droppedBytes).toBe(14)
  expect(await allRows(log)).toEqual(['kept'])
})

test('search finds every row with its number, also in the unfinished one', async () => {
  const spool = new Spool()
  for (let i = 0; i < 1_000; i++) spool.add(`row ${i}${i % 300 === 0 ? ' ERROR' : ''}\n`)
  spool.add('last error without end', 'stderr')
  const log = new OutputLog(spool.read)
  await log.extend(spool.lastSeq, none)
  let last: { rows: readonly number[]; done: boolean } = { rows: [], done: false }
  await log.search('error', new AbortController().signal, (progress) => (last = progress))
  expect(last).toMatchObject({ rows: [0, 300, 600, 900, 1_000], done: true })
})

test('a host that cannot read is named', async () => {
  const log = new OutputLog(async () => ({ ok: false, code: 'unavailable', message: 'exec server is down' }))
  expect(await log.extend(5, none)).toMatchObject({ ok: false, message: 'exec server is down' })
})

test('a splitter that starts in the middle makes the same rows as one that started at the beginning', () => {
  const chunk = fc.string({ unit: fc.constantFrom('a', '\n', '€', '\r'), maxLength: 30 })
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 8 }), (texts) => {
      const chunks = texts.map((text, i): ProcessChunkView => ({
        seq: i + 1,
        stream: 'stdout',
        bytes: encoder.encode(text),
      }))
      const whole: { text: string; seq: number; offset: number; continues: boolean }[] = []
      const splitter = new RowSplitter((row, start) => whole.push({ text: row.text, ...start }))
      for (const one of chunks) splitter.push(one)
      for (const [index, from] of whole.entries()) {
        const rest: string[] = []
        const again = new RowSplitter((row) => rest.push(row.text), from.continues)
        for (const one of chunks.slice(from.seq - 1)) again.push(one, one.seq === from.seq ? from.offset : 0)
        expect(rest).toEqual(whole.slice(index).map((row) => row.text))
      }
    }),
  )
})
