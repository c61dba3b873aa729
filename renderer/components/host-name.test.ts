import { domainToASCII } from 'node:url'
import { expect, test } from 'vitest'
import { hostAndPort, hostName, isAddress } from './host-name.ts'

test.each(['bücher.example', '例え.テスト', 'münchen.köln', 'пример.испытание', 'faß-test.de', 'aéiøü.org'])(
  'the ASCII form of %s is shown as it was written',
  (unicode) => {
    const ascii = domainToASCII(unicode)
    expect(hostName(ascii)).toEqual({ shown: unicode, ascii })
  },
)

test('a plain host has one form', () => {
  expect(hostName('registry.example.org')).toEqual({ shown: 'registry.example.org', ascii: null })
})

test.each(['xn--.org', 'xn--a!b.org', 'xn--99999999999999.org'])(
  '%s, which is not Punycode, stays as it is',
  (host) => {
    expect(hostName(host)).toEqual({ shown: host, ascii: null })
  },
)

test('IPv6 gets brackets before a port', () => {
  expect(hostAndPort('2001:db8::1', 443)).toBe('[2001:db8::1]:443')
  expect(hostAndPort('example.org', 80)).toBe('example.org:80')
})

test('addresses are told from names', () => {
  expect(['127.0.0.1', '::1', 'example.org', '1.example'].map(isAddress)).toEqual([true, true, false, false])
})
