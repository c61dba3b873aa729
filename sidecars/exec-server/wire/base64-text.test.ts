import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { base64Length, Base64Error, Base64Text } from './base64-text.ts'

const forms = (text: string) => [new Base64Text(text), new Base64Text(Buffer.from(text))]

describe('base64 off the wire', () => {
  it('decodes strings and bytes alike, whole and in blocks', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5_000 }), fc.integer({ min: 1, max: 700 }), (bytes, blockBytes) => {
        const text = Buffer.from(bytes).toString('base64')
        expect(base64Length(bytes.length)).toBe(text.length)
        for (const form of forms(text)) {
          expect(form.decodedBytes).toBe(bytes.length)
          expect(form.decode().equals(bytes)).toBe(true)
          // Copied one by one: the memory is used again.
          const blocks = Array.from(form.blocks(blockBytes), (block) => Buffer.from(block))
          expect(Buffer.concat(blocks).equals(bytes)).toBe(true)
          expect(blocks.every((block) => block.length <= Math.max(3, blockBytes))).toBe(true)
        }
      }),
    )
  })

  it('decodes more than one inner block', () => {
    const bytes = Buffer.alloc(300_001, 'abcdefg')
    for (const form of forms(bytes.toString('base64'))) expect(form.decode().equals(bytes)).toBe(true)
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
      expect(() => [...form.blocks(3)]).toThrow(Base64Error)
    }
  })
})
