import fc from '../../testing/fast-check.ts'
import { expect, test } from 'vitest'
import { DecodeError } from '../../protocol/decode.ts'
import { formatCursor, parseCursor } from './output-cursor.ts'

const bytes = fc.uint8Array({ minLength: 1, maxLength: 3 }).map((b) => Buffer.from(b))

test('every cursor reads back as it was written', () => {
  const cursor = fc.record({
    afterSeq: fc.nat(),
    offset: fc.nat(),
    pending: fc.record({ stdout: bytes, stderr: bytes, pty: bytes }, { requiredKeys: [] }),
  })
  fc.assert(
    fc.property(cursor, (given) => {
      expect(parseCursor(formatCursor(given))).toEqual(given)
    }),
  )
})

test.each(['', 'x', '-1', '1.', '1.2.3', '1~q00', '1~o0', '99999999999999999', '1\n'])(
  'the text %j, which no page gave out, is refused by name',
  (text) => {
    expect(() => parseCursor(text)).toThrow(DecodeError)
    expect(() => parseCursor(text)).toThrow(/^cursor: .*leave it out/)
  },
)
