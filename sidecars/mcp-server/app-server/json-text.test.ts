import { expect, it } from 'vitest'
import { JsonText, withJsonTexts } from './json-text.ts'

it('puts texts in their places, among values that look like anything', () => {
  const value = {
    a: new JsonText(['[1,', Buffer.from('"ü"]')]),
    b: '"0"',
    c: [new JsonText(['{"x":"\\u0041"}']), null],
  }
  const whole = (of: unknown) => {
    const text = withJsonTexts(() => JSON.stringify(of))
    return typeof text === 'string' ? text : Buffer.concat(text).toString('utf8')
  }
  expect(JSON.parse(whole(value))).toEqual({ a: [1, 'ü'], b: '"0"', c: [{ x: 'A' }, null] })
  // What one answer held does not show in the next.
  expect(whole({ b: 1 })).toBe('{"b":1}')
  expect(whole([new JsonText(['7'])])).toBe('[7]')
})
