import { createHash } from 'node:crypto'
import fc from '../../testing/fast-check.ts'
import { expect, test } from 'vitest'
import type { OutputChunk, ReadOptions, ReadOutput } from '../../exec-server/client/index.ts'
import { START_OF_OUTPUT, formatCursor, parseCursor, type OutputCursor } from './output-cursor.ts'
import { pageText, readPage } from './output-page.ts'

/** Output as an exec server keeps it: whole chunks, at least one a read. */
function kept(chunks: OutputChunk[], closed = true) {
  return {
    async read(afterSeq: number, { maxBytes = Infinity }: ReadOptions = {}): Promise<ReadOutput> {
      const given: OutputChunk[] = []
      for (const chunk of chunks.filter(({ seq }) => seq > afterSeq)) {
        const size = given.reduce((sum, { bytes }) => sum + bytes.length, 0)
        if (given.length > 0 && size + chunk.bytes.length > maxBytes) break
        given.push(chunk)
      }
      return { chunks: given, nextSeq: 0, exited: closed, exitCode: 0, closed, sandboxDenied: false, failure: null }
    },
  }
}
const chunk = (seq: number, bytes: Uint8Array | string, stream: OutputChunk['stream'] = 'stdout'): OutputChunk => ({
  kind: 'output',
  seq,
  stream,
  bytes: Buffer.from(bytes as string),
})
const never = new AbortController().signal

async function readAll(process: ReturnType<typeof kept>, maxBytes: number): Promise<{ bytes: Buffer; text: string }> {
  const parts: Buffer[] = []
  let text = ''
  let raw: OutputCursor = START_OF_OUTPUT
  let worded: OutputCursor = START_OF_OUTPUT
  for (let isAtEnd = false; !isAtEnd;) {
    const page = await readPage(process, { cursor: raw, maxBytes, waitMs: 0, exitSeq: null }, never)
    parts.push(...page.pieces.map((piece) => piece.bytes))
    raw = parseCursor(formatCursor(page.next))
    const textPage = await readPage(process, { cursor: worded, maxBytes, waitMs: 0, exitSeq: null }, never)
    const shown = pageText(textPage, worded)
    text += shown.text
    worded = parseCursor(formatCursor(shown.next))
    isAtEnd = page.atEnd && textPage.atEnd
  }
  return { bytes: Buffer.concat(parts), text }
}

test('pages of any size give every byte once, and text without a broken character', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1 })),
      fc.integer({ min: 1, max: 9 }),
      async (parts, maxBytes) => {
        const whole = Buffer.from(parts.join(''), 'utf8')
        // Cut anywhere, also inside characters.
        const chunks = [...whole].flatMap((_, at) =>
          at % 3 === 0 ? [chunk(at / 3 + 1, whole.subarray(at, at + 3))] : [],
        )
        const read = await readAll(kept(chunks), maxBytes)
        expect(read).toEqual({ bytes: whole, text: whole.toString('utf8').replaceAll('\0', '\u2400') })
      },
    ),
  )
})

test('a megabyte paged by 64 KiB has the hash of what was written', async () => {
  const whole = Buffer.alloc(1_000_003, 'Gatehouse keeps every byte. ')
  const chunks = Array.from({ length: Math.ceil(whole.length / 8192) }, (_, at) =>
    chunk(at + 1, whole.subarray(at * 8192, (at + 1) * 8192)),
  )
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  expect(hash((await readAll(kept(chunks), 65536)).bytes)).toBe(hash(whole))
})

test('the number of the exit between two chunks is no gap, any other hole is one', async () => {
  const process = kept([chunk(1, 'a'), chunk(3, 'b')])
  const request = { cursor: { ...START_OF_OUTPUT, afterSeq: 1 }, maxBytes: 100, waitMs: 0 }
  expect((await readPage(process, { ...request, exitSeq: 2 }, never)).gap).toBeNull()
  expect((await readPage(process, { ...request, exitSeq: null }, never)).gap).toEqual({ fromSeq: 2, toSeq: 2 })
})

test('an old cursor into dropped output tells the range that is gone', async () => {
  const page = await readPage(
    kept([chunk(40, 'tail')]),
    { cursor: parseCursor('11.5~oe2'), maxBytes: 100, waitMs: 0, exitSeq: null },
    never,
  )
  expect(page.gap).toEqual({ fromSeq: 12, toSeq: 39 })
  expect(pageText(page, parseCursor('11.5~oe2')).text).toBe('tail')
})

test('the end is not told while the process can still write', async () => {
  const page = await readPage(
    kept([chunk(1, 'a')], false),
    { cursor: START_OF_OUTPUT, maxBytes: 100, waitMs: 0, exitSeq: null },
    never,
  )
  expect(page.atEnd).toBe(false)
})
