import { expect, test } from 'vitest'
import { isOurs, PAGE_URL } from './page-origin.ts'

test('the page and everything beside it is ours', () => {
  expect(isOurs(PAGE_URL)).toBe(true)
  expect(isOurs('app://gatehouse/assets/entry.js?v=1#x')).toBe(true)
})

test.each([
  'app://gatehouse.evil/index.html',
  'app://evil/gatehouse',
  'app://user@gatehouse/index.html',
  'https://gatehouse/index.html',
  'file:///index.html',
  'data:text/html,app://gatehouse/',
  'about:blank',
  'not an address',
  '',
])('%j is not ours', (address) => {
  expect(isOurs(address)).toBe(false)
})
