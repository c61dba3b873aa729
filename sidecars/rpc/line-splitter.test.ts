import fc from '../testing/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { LineSplitter, type Line } from './line-splitter.ts'

/** Feeds `bytes` in pieces cut at `cuts` (any numbers; taken modulo the length). */
function split(bytes: Buffer, cuts: number[], maxLineBytes?: number): Line[] {
  const splitter = new LineSplitter(maxLineBytes)
  const edges = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const lines: Line[] = []
  let from = 0
  for (const edge of [...edges, bytes.length]) {
    lines.push(...splitter.push(bytes.subarray(from, edge)))
    from = edge
  }
  return [...lines, ...splitter.end()]
}
const texts = (lines: Line[]) => lines.map((line) => ('text' in line ? line.text : line.problem.code))
const anyCuts = fc.array(fc.nat({ max: 100_000 }), { maxLength: 40 })
/** Text that survives UTF-8 and has no line feed, edges included. */
const anyLine = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\u2028', '\u2029', '\u0085', '\r', '\u0000', '"', '\\', 'é', '😀', ' ') }),
)

describe('splitting a byte stream into lines', () => {
  test('wherever the stream is cut, the same lines come out', () => {
    fc.assert(
      fc.property(fc.array(anyLine.map((line) => `${line.replaceAll('\n', '')}.`)), anyCuts, (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        expect(texts(split(bytes, cuts))).toEqual(lines)
      }),
    )
  })

  test('any bytes in any pieces: never throws, and equals the whole fed at once', () => {
    const noisy = fc.array(fc.oneof(fc.constant(0x0a), fc.constant(0x0d), fc.nat({ max: 255 })), { maxLength: 400 })
    fc.assert(
      fc.property(noisy, anyCuts, fc.integer({ min: 1, max: 64 }), (values, cuts, maxLineBytes) => {
        const bytes = Buffer.from(values)
        expect(split(bytes, cuts, maxLineBytes)).toEqual(split(bytes, [], maxLineBytes))
      }),
    )
  })

  test('M11 only byte 0x0A ends a line; U+2028, U+2029, U+0085 and inner CR are ordinary', () => {
    expect(texts(split(Buffer.from('a\u2028b\u2029c\u0085d\re\nf\n'), []))).toEqual(['a\u2028b\u2029c\u0085d\re', 'f'])
  })

  test('one carriage return before the line end is dropped, blank lines are skipped', () => {
    expect(texts(split(Buffer.from('a\r\n\r\n\n   \t\nb\r\r\nc'), []))).toEqual(['a', 'b\r', 'c'])
  })

  test('a line of exactly the limit passes, also with CRLF; one byte more is skipped and reported in its place', () => {
    const stream = Buffer.from('first\n12345678\n12345678\r\n123456789\n123456789012345678901234567890\nlast\n')
    expect(texts(split(stream, [1, 9, 20, 33, 50], 8))).toEqual([
      'first',
      '12345678',
      '12345678',
      'message-too-long',
      'message-too-long',
      'last',
    ])
    const problem = split(Buffer.from('123456789\n'), [], 8)[0]
    expect(problem).toEqual({
      problem: {
        code: 'message-too-long',
        message: 'a line of 9 bytes is over the limit of 8 bytes and was skipped',
      },
    })
  })

  test('a line that is not UTF-8 is reported, its neighbours arrive', () => {
    const stream = Buffer.concat([Buffer.from('a\n'), Buffer.from([0xc3, 0x28, 0x0a]), Buffer.from('b\n')])
    expect(texts(split(stream, [3]))).toEqual(['a', 'not-utf8', 'b'])
  })

  test('a character cut in two by the chunk border is whole again', () => {
    const bytes = Buffer.from('😀é\n')
    for (let cut = 1; cut < bytes.length; cut++) expect(texts(split(bytes, [cut]))).toEqual(['😀é'])
  })
})
