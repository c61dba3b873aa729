import { describe, expect, it } from 'vitest'
import {
  canonicalHost,
  formatHostPattern,
  hostMatches,
  InvalidHost,
  isIpLiteral,
  parseHostPattern,
  patternsOverlap,
} from './host-pattern.ts'

describe('canonicalHost', () => {
  it.each([
    ['Exact.Example.', 'exact.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--mnchen-3ya.example', 'xn--mnchen-3ya.example'],
    ['127.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f.0.0.1', '127.0.0.1'],
    ['１２７.0.0.1', '127.0.0.1'],
    ['[2001:DB8:0:0:0:0:0:1]', '2001:db8::1'],
    ['2001:0db8:0:0::2', '2001:db8::2'],
    ['[::ffff:203.0.113.7]', '203.0.113.7'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['[fe80::1%25eth0]', 'fe80::1%eth0'],
    ['_service.example', '_service.example'],
    ['localhost', 'localhost'],
  ])('reads %s as %s', (text, host) => {
    expect(canonicalHost(text)).toBe(host)
    expect(canonicalHost(host)).toBe(host)
  })

  it.each([
    '',
    'a b',
    'a..b',
    'exact.example..',
    '.sub.example',
    'a/b',
    'user@host',
    'a%2eb',
    'a\u0000b',
    '[host]',
    '::1%x.allowed/com',
    '1.2.3.999',
    'x'.repeat(64),
    `${'x.'.repeat(130)}y`,
  ])('refuses %j', (text) => {
    expect(() => canonicalHost(text)).toThrow(InvalidHost)
  })
})

describe('host patterns', () => {
  it.each([
    ['*.sub.example', 'sub.example', false],
    ['*.sub.example', 'a.sub.example', true],
    ['*.sub.example', 'a.b.sub.example', true],
    ['**.apex.example', 'apex.example', true],
    ['**.apex.example', 'x.apex.example', true],
    ['**.apex.example', 'xapex.example', false],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['*', 'anything.example', true],
    ['*', '10.0.0.1', false],
    ['10.0.0.1', '10.0.0.1', true],
    ['fe80::1', 'fe80::1%eth0', true],
  ])('%s against %s is %s', (pattern, host, expected) => {
    expect(hostMatches(parseHostPattern(pattern), host)).toBe(expected)
  })

  it.each(['http://a.example', 'a.example:443', '10.0.0.0/8', 'a*.example', '**', '*.10.0.0.1', '***.a', '*.'])(
    'refuses %s',
    (text) => {
      expect(() => parseHostPattern(text)).toThrow(InvalidHost)
    },
  )

  it('writes a pattern back in its canonical form', () => {
    expect(formatHostPattern(parseHostPattern('**.BÜCHER.example.'))).toBe('**.xn--bcher-kva.example')
  })

  it.each([
    ['**.a.example', 'x.a.example', true],
    ['*.a.example', 'a.example', false],
    ['*.a.example', '**.b.a.example', true],
    ['*.a.example', '*.b.example', false],
    ['*', '127.0.0.1', false],
    ['*', '*.b', true],
  ])('%s and %s overlap: %s', (a, b, expected) => {
    expect(patternsOverlap(parseHostPattern(a), parseHostPattern(b))).toBe(expected)
    expect(patternsOverlap(parseHostPattern(b), parseHostPattern(a))).toBe(expected)
  })

  it('tells addresses from names', () => {
    expect(['127.0.0.1', '::1', 'a.example', '1.example'].map(isIpLiteral)).toEqual([true, true, false, false])
  })
})
