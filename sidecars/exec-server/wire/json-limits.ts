import { MalformedMessage } from '../../rpc/json-rpc.ts'

/** The wire's limits: values in one message, arrays and objects inside each other. */
export const MAX_JSON_VALUES = 262_144
export const MAX_JSON_DEPTH = 127

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Counts the values and the nesting of a JSON text before it is parsed, so that a hostile one cannot
 * cost us memory or stack. Says nothing about whether the text is JSON at all.
 * @returns how many members all its objects have together, repeated ones included
 * @throws MalformedMessage
 */
export function checkJsonLimits(bytes: Buffer): number {
  let depth = 0
  let values = 1
  let members = 0
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case QUOTE:
        i = endOfString(bytes, i + 1)
        break
      case 0x7b: // {
      case 0x5b: // [
        values++
        if (++depth > MAX_JSON_DEPTH) throw new MalformedMessage(`recursion limit of ${MAX_JSON_DEPTH} exceeded`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      case 0x2c: // ,
        if (++values > MAX_JSON_VALUES) throw new MalformedMessage(`more than ${MAX_JSON_VALUES} JSON values`)
        break
      case 0x3a: // :
        members++
        break
    }
  }
  return members
}

/**
 * Members of all objects of a parsed value. Fewer than its text had means that a key stood twice in one
 * object, and that two readers of the text could have read two things.
 */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countMembers(item), 0)
  let members = 0
  for (const name in value) members += 1 + countMembers((value as Record<string, unknown>)[name])
  return members
}

/** The index of the quote that ends the string, or the end of the text. */
function endOfString(bytes: Buffer, from: number): number {
  for (let i = from; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === BACKSLASH) i++
    else if (byte === QUOTE) return i
  }
  return bytes.length
}
