import { expect, it } from 'vitest'
import { JsonText, withJsonTexts } from './json-text.ts'

it('puts texts in their places, among values that look like anything', () => {
  const value = {
    a: new JsonText(['[1,', '2]']),
    b: '"0"',
    c: [new JsonText(['{"x":"\\u0041"}']), null],
  }
  const text = withJsonTexts(() => JSON.stringify(value))
  expect(JSON.parse(text)).toEqual({ a: [1, 2], b: '"0"', c: [{ x: 'A' }, null] })
  // What one answer held does not show in the next.
  expect(withJsonTexts(() => JSON.stringify({ b: 1 }))).toBe('{"b":1}')
  expect(withJsonTexts(() => JSON.stringify([new JsonText(['7'])]))).toBe('[7]')
})
