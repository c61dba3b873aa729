import { mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../testing/fast-check.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MAX_LINE_BYTES, readLines, type RolloutLine } from './rollout-lines.ts'
import { rolloutPath, threadIdOf } from './rollout-path.ts'
import { formatRecord, parseLine, type RolloutRecord } from './rollout-record.ts'
import { RolloutWriter, type WrittenRecord } from './rollout-writer.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-rollout-'))
  path = join(folder, 'a', 's.jsonl')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const record = (ordinal: number, text = `text ${ordinal}`): RolloutRecord => ({
  timestamp: '2026-01-01T00:00:00.000Z',
  ordinal,
  type: 'event_msg',
  payload: { type: 'x', text },
})
const lines = async (file = path, from = 0): Promise<RolloutLine[]> => {
  const all: RolloutLine[] = []
  for await (const some of readLines(file, from)) all.push(...some)
  return all
}
const writer = (written: WrittenRecord[] = []) => new RolloutWriter({ path, onWritten: (w) => written.push(...w) })

describe('a rollout file', () => {
  it('is made at the first flush and read back with places', async () => {
    const written: WrittenRecord[] = []
    const w = writer(written)
    expect(() => readFileSync(path)).toThrow()
    w.append([record(0), record(1, 'é\u2028')])
    await w.flush()
    w.append([record(2)])
    await w.close()
    const read = await lines()
    expect(read.map((l) => parseLine(l.text!).records)).toEqual([[record(0)], [record(1, 'é\u2028')], [record(2)]])
    expect(read.map(({ offset, byteLength }) => ({ offset, byteLength }))).toEqual(
      written.map(({ offset, byteLength }) => ({ offset, byteLength })),
    )
    expect((await lines(path, written[2]!.offset)).length).toBe(1)
  })

  it('E100 E102 goes on behind a torn last line and keeps the torn bytes', async () => {
    const w0 = writer()
    w0.append([record(0), record(1)])
    await w0.close()
    writeFileSync(path, '{"timestamp":"2026","ordinal":2,"type":"tool","payload":{"out":"par', { flag: 'a' })
    const w = writer()
    w.append([record(3)])
    await w.close()
    const read = await lines()
    expect(read.map((l) => parseLine(l.text!))).toEqual([
      { records: [record(0)], damaged: false },
      { records: [record(1)], damaged: false },
      { records: [], damaged: true },
      { records: [record(3)], damaged: false },
    ])
  })

  it('E102 finds a whole record glued behind a torn one', () => {
    expect(parseLine(`{"timestamp":"t","ordinal":2,"te${formatRecord(record(3)).trim()}`)).toEqual({
      records: [record(3)],
      damaged: true,
    })
    expect(parseLine(formatRecord(record(2)).trim() + formatRecord(record(3)).trim())).toEqual({
      records: [record(2), record(3)],
      damaged: false,
    })
    expect(parseLine('')).toEqual({ records: [], damaged: false })
  })

  it('E106 keeps records in memory while the disk is full and writes them later, once', async () => {
    const w0 = writer()
    w0.append([record(0)])
    await w0.close()
    const content = readFileSync(path)
    unlinkSync(path)
    symlinkSync('/dev/full', path)
    const w = writer()
    w.append([record(1), record(2)])
    await expect(w.flush(true)).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(w.pending).toBe(2)
    await w.close().catch(() => undefined)
    unlinkSync(path)
    writeFileSync(path, content)
    w.append([record(3)])
    await w.close()
    expect((await lines()).flatMap((l) => parseLine(l.text!).records.map((r) => r.ordinal))).toEqual([0, 1, 2, 3])
  })

  it('keeps what is appended while a flush is writing, in the file and in the index', async () => {
    const written: WrittenRecord[] = []
    const w = writer(written)
    let next = 0
    for (const turnsLater of [0, 1, 2, 3, 4, 5]) {
      w.append([record(next++), record(next++)])
      const flushing = w.flush()
      for (let turn = 0; turn < turnsLater; turn++) await Promise.resolve()
      w.append([record(next++)])
      await flushing
    }
    await w.close()
    const ordinals = Array.from({ length: next }, (_, i) => i)
    expect(written.map((one) => one.record.ordinal)).toEqual(ordinals)
    expect((await lines()).flatMap((l) => parseLine(l.text!).records.map((r) => r.ordinal))).toEqual(ordinals)
  })

  it('E105 reports a huge line without reading it', async () => {
    const w0 = writer()
    w0.append([record(0)])
    await w0.close()
    writeFileSync(path, `${'y'.repeat(MAX_LINE_BYTES + 5)}\n${formatRecord(record(2))}`, { flag: 'a' })
    expect((await lines()).map((l) => [l.byteLength > MAX_LINE_BYTES, l.text === null, l.ended])).toEqual([
      [false, false, true],
      [true, true, true],
      [false, false, true],
    ])
  })

  it('gives the same lines whatever their lengths', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 30 }), async (texts) => {
        const file = join(folder, 'p.jsonl')
        writeFileSync(file, texts.map((t, i) => formatRecord(record(i, t))).join(''))
        expect((await lines(file)).flatMap((l) => parseLine(l.text!).records)).toEqual(
          JSON.parse(JSON.stringify(texts.map((t, i) => record(i, t)))),
        )
      }),
      { numRuns: 30 },
    )
  })
})

it('names files by local time and id, and reads the id back', () => {
  const id = '01a22e1f-92c5-77c3-96f1-5ca88a0e8664'
  const path = rolloutPath('/h', id, new Date(2026, 10, 30, 20, 2, 3))
  expect(path).toBe(`/h/sessions/2026/11/30/rollout-2026-11-30T20-02-03-${id}.jsonl`)
  expect([threadIdOf(path.split('/').at(-1)!), threadIdOf('rollout-x.jsonl')]).toEqual([id, null])
})
