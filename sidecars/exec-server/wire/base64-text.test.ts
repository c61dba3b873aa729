import fc from '../../testing/fast-check.ts'
import { describe, expect, it } from 'vitest'
import { base64Length, Base64Error, Base64Text } from './base64-text.ts'

const forms = (text: string) => [new Base64Text(text), new Base64Text(Buffer.from(text))]

describe('base64 off the wire', () => {
  it('decodes strings and bytes alike', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5_000 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64')
        expect(base64Length(bytes.length)).toBe(text.length)
        for (const form of forms(text)) {
          expect(form.decodedBytes).toBe(bytes.length)
          expect(form.decode().equals(bytes)).toBe(true)
        }
      }),
    )
  })

  it('decodes long content piece by piece, and in its own memory', () => {
    const bytes = Buffer.alloc(300_001, 'abcdefg')
    const text = bytes.toString('base64')
    expect(new Base64Text(text).decode().equals(bytes)).toBe(true)
    // A member of a longer message, whose other bytes stay as they are.
    const message = Buffer.from(`{"x":"${text}"}`)
    const steps = new Base64Text(message.subarray(6, -2)).decodeInSteps()
    let count = 0
    let step = steps.next()
    for (; !step.done; step = steps.next()) count++
    expect(count).toBeGreaterThan(4)
    expect(step.value.equals(bytes)).toBe(true)
    expect(step.value.buffer).toBe(message.buffer)
    expect([message.toString('latin1', 0, 6), message.toString('latin1', message.length - 2)]).toEqual(['{"x":"', '"}'])
  })

  it.each([
    ['missing padding', 'QQ'],
    ['whitespace', 'QUJD\nRA=='],
    ['a blank', 'QQ= '],
    ['URL-safe letters', 'a-_b'],
    ['padding in the middle', 'QQ==QUJD'],
    ['too much padding', 'Q==='],
    ['bits hidden by the padding', 'QR=='],
    ['other letters', 'QÄJD'],
  ])('refuses %s', (_, text) => {
    for (const form of forms(text)) {
      expect(() => form.decode()).toThrow(Base64Error)
    }
  })
})
