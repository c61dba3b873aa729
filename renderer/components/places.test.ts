import { expect, test } from 'vitest'
import { parsePlace, place, placeHref } from './places.ts'

test.each([
  place('inbox'),
  place('processes', 'prc_1'),
  place('network', null, { by: 'host', value: '*.a/b?c=d' }),
  place('sessions', 'a/b %', null),
  place('network', 'con_1', { by: 'session', value: 'ses_1' }),
])('the address of a place leads back to it: %j', (there) => {
  expect(parsePlace(placeHref(there))).toEqual(there)
})

test.each(['', '#', '#/nowhere', '#/__proto__/x', 'javascript:alert(1)'])(
  'the foreign address %j leads to the Inbox',
  (hash) => {
    expect(parsePlace(hash)).toEqual(place('inbox'))
  },
)

test('a malformed escape is taken as it is', () => {
  expect(parsePlace('#/sessions/%E0%A4%A')).toEqual(place('sessions', '%E0%A4%A'))
})
