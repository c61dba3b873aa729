import { describe, expect, it } from 'vitest'
import { decode, u64 } from './decode.ts'
import { processReadParams } from './exec-process.ts'

describe('unsigned 64-bit integers', () => {
  it.each([
    ['0', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740993', Number.MAX_SAFE_INTEGER],
    ['18446744073709551615', Number.MAX_SAFE_INTEGER],
  ])('%s is %i', (text, value) => expect(decode(u64, JSON.parse(text))).toBe(value))
  it.each([['-1'], ['1.5'], ['1e30'], ['"1"'], ['null']])('%s is none', (text) => {
    expect(() => decode(u64, JSON.parse(text), 'waitMs')).toThrow(/^waitMs: expected /)
  })
  it('end a read where the client sets no end', () => {
    const params: unknown = JSON.parse(
      '{"processId":"p","maxBytes":18446744073709551615,"waitMs":18446744073709551615}',
    )
    expect(decode(processReadParams, params)).toMatchObject({ maxBytes: Number.MAX_SAFE_INTEGER, afterSeq: 0 })
  })
})
