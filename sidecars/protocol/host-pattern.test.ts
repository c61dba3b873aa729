import { describe, expect, it } from 'vitest'
import {
  canonicalHost,
  formatRulePattern,
  InvalidHost,
  InvalidPattern,
  isIpLiteral,
  parseRulePattern,
  patternCovers,
  patternNames,
  patternsOverlap,
  type PatternEffect,
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

describe('which hosts a pattern names', () => {
  it.each([
    ['*.sub.example', 'sub.example', false],
    ['*.sub.example', 'a.sub.example', true],
    ['*.sub.example', 'a.b.sub.example', true],
    ['**.apex.example', 'apex.example', true],
    ['**.apex.example', 'x.apex.example', true],
    ['**.apex.example', 'xapex.example', false],
    ['Exact.Example.', 'exact.example', true],
    ['Exact.Example.', 'EXACT.example.', true],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['bücher.example', 'BÜCHER.example', true],
    ['xn--mnchen-3ya.example', 'xn--mnchen-3ya.example', true],
    ['*.bücher.example', 'a.xn--bcher-kva.example', true],
    ['[2001:db8::1]', '[2001:DB8:0:0:0:0:0:1]', true],
    ['2001:0db8:0:0::2', '[2001:db8::2]', true],
    ['203.0.113.7', '[::ffff:203.0.113.7]', true],
    ['203.0.113.7', '203.0.113.007', true],
    ['api?.q.example', 'api1.q.example', true],
    ['api?.q.example', 'api.q.example', false],
    ['api?.q.example', 'api12.q.example', false],
    ['region*.mid.example', 'region.mid.example', true],
    ['region*.mid.example', 'region1.mid.example', true],
    ['region*.mid.example', 'region1.x.mid.example', true],
    ['*foo.example', 'foo.example', true],
    ['*foo.example', 'afoo.example', true],
    ['*foo.example', 'a.foo.example', true],
    ['127.0.0.1', '127.1', true],
    ['127.0.0.1', '2130706433', true],
    ['127.0.0.1', '0x7f000001', true],
    ['127.0.0.1', '１２７.0.0.1', true],
    ['fe80::1', 'fe80::1%eth0', true],
    ['*.com', 'a.com', true],
    ['*.allowed.com', '::1%x.allowed.com', false],
    ['*', 'anything.example', true, 'allow'],
    ['*', '10.0.0.1', false, 'allow'],
    ['*:22', '10.0.0.1', true, 'ask'],
    ['*:22', '10.0.0.1', true, 'deny'],
  ] as [string, string, boolean, PatternEffect?][])('%s names %s: %s', (pattern, host, expected, effect = 'deny') => {
    expect(patternNames(parseRulePattern(pattern, effect), canonicalHost(host), effect)).toBe(expected)
  })

  it.each(['.sub.example', 'EXACT.example..', 'a b', 'a%2eb', 'user@host', 'a/b', 'a\\b', `${'x'.repeat(254)}`])(
    'a request for %j is for no host at all',
    (host) => {
      expect(() => canonicalHost(host)).toThrow(InvalidHost)
    },
  )

  it('matching takes time bounded by pattern and host, whatever they are', () => {
    const glob = parseRulePattern(`${'*a'.repeat(60)}b`, 'deny')
    expect(patternNames(glob, `${'a'.repeat(240)}.x`, 'deny')).toBe(false)
  })
})

describe('patterns that are refused', () => {
  it.each([
    ['a{b}.com', 'unsupported domain pattern syntax'],
    ['10.0.0.0/8', 'unsupported domain pattern syntax'],
    ['a.com/path', 'unsupported domain pattern syntax'],
    ['a.com b.com', 'unsupported domain pattern syntax'],
    ['a.com,b.com', 'unsupported domain pattern syntax'],
    ['a\\b', 'unsupported domain pattern syntax'],
    ['http://a.com', 'not a URL'],
    ['a**.com', 'repeated wildcard'],
    ['*.**.com', 'repeated wildcard'],
    ['***.com', 'repeated wildcard'],
    ['**.a*.com', 'repeated wildcard'],
    ['a[b].com', 'brackets are only supported for IPv6'],
    ['[::1', 'brackets are only supported for IPv6'],
    ['', 'empty'],
    ['   ', 'empty'],
    ['a.com:99999', 'port must be a number'],
    ['a.com:x', 'port must be a number'],
    ['198.51.100.*', 'do not match addresses'],
    ['bü*.example', 'beside letters outside ASCII'],
    ['*.10.0.0.1', 'cannot stand in front of an address'],
    ['**', 'repeated wildcard'],
    ['::1:443x', 'not a host name or address'],
  ])('%j: %s', (pattern, words) => {
    expect(() => parseRulePattern(pattern, 'allow')).toThrow(words)
  })

  it.each(['*', '*.', '[*]', '**.*', '*.*', '*?', '?*'])(
    'P10 denying everything with %s is refused and the default explained',
    (pattern) => {
      expect(() => parseRulePattern(pattern, 'deny')).toThrow(InvalidPattern)
      expect(() => parseRulePattern(pattern, 'deny')).toThrow(/hosts that no rule allows are refused without it/)
    },
  )

  it.each(['*', '*.com', '*.*', '?', '*?'])('%s may be allowed', (pattern) => {
    expect(parseRulePattern(pattern, 'allow').port).toBeUndefined()
  })

  it('a port stands in the pattern or beside it, and both must agree', () => {
    expect(parseRulePattern('a.example', 'allow', 443)).toEqual(parseRulePattern('a.example:443', 'allow'))
    expect(parseRulePattern('a.example:443', 'allow', 443).port).toBe(443)
    expect(() => parseRulePattern('a.example:443', 'allow', 80)).toThrow('names port 443 and the rule port 80')
  })

  it('one port of every host may be denied', () => {
    expect(parseRulePattern('*:22', 'deny')).toEqual({ kind: 'any', port: 22 })
  })
})

it.each([
  ['A.com', 'a.com'],
  ['a.com:8443', 'a.com:8443'],
  ['[2001:DB8::1]:443', '[2001:db8::1]:443'],
  ['**.BÜCHER.example', '**.xn--bcher-kva.example'],
  ['Region*.Mid.example.', 'region*.mid.example'],
  ['*:22', '*:22'],
])('%s is written as %s, which reads the same', (written, canonical) => {
  expect(formatRulePattern(parseRulePattern(written, 'allow'))).toBe(canonical)
  expect(parseRulePattern(canonical, 'allow')).toEqual(parseRulePattern(written, 'allow'))
})

it.each([
  ['**.a.example', 'x.a.example', true],
  ['*.a.example', 'a.example', false],
  ['*.a.example', '**.b.a.example', true],
  ['*.a.example', '*.b.example', false],
  ['api?.a.example', 'api1.a.example', true],
  ['api?.a.example', 'b.example', false],
  ['api?.a.example', '*.b.example', true],
  ['*', '127.0.0.1', false],
  ['*', '*.b', true],
])('%s and %s overlap: %s', (a, b, expected) => {
  expect(patternsOverlap(parseRulePattern(a, 'allow'), parseRulePattern(b, 'deny'))).toBe(expected)
})

it('asking about one port of every host overlaps with an address that is allowed', () => {
  expect(patternsOverlap(parseRulePattern('127.0.0.1', 'allow'), parseRulePattern('*:22', 'ask'))).toBe(true)
})

it('tells addresses from names', () => {
  expect(['127.0.0.1', '::1', 'a.example', '1.example'].map(isIpLiteral)).toEqual([true, true, false, false])
})

it.each([
  ['a.test', 'a.test', true],
  ['a.test', 'b.test', false],
  ['a.test', '*.a.test', false],
  ['*.d.test', 'x.d.test', true],
  ['*.d.test', 'd.test', false],
  ['*.d.test', '*.d.test', true],
  ['*.d.test', '*.x.d.test', true],
  ['*.d.test', '**.x.d.test', true],
  ['*.d.test', '**.d.test', false],
  ['**.d.test', 'd.test', true],
  ['**.d.test', 'x.d.test', true],
  ['**.d.test', '*.d.test', true],
  ['**.d.test', '**.d.test', true],
  ['**.d.test', '**.x.d.test', true],
  ['**.d.test', '**.test', false],
  ['**.d.test', 'bad.test', false],
  ['**.d.test', '*', false],
  ['reg*.d.test', 'reg*.d.test', true],
  ['reg*.d.test', 'reg1.d.test', true],
  ['reg*.d.test', 'x*.d.test', false],
  ['**.d.test', 'reg*.d.test', false],
  ['a.test', 'a.test:443', true],
  ['a.test:443', 'a.test', false],
  ['a.test:443', 'a.test:443', true],
  ['a.test:443', 'a.test:80', false],
])('%s covers %s: %s', (wide, narrow, expected) => {
  expect(patternCovers(parseRulePattern(wide, 'allow'), parseRulePattern(narrow, 'allow'), 'allow')).toBe(expected)
})

it('denying a port of every host covers addresses, allowing every host does not', () => {
  const address = parseRulePattern('127.0.0.1:22', 'allow')
  expect(patternCovers(parseRulePattern('*:22', 'deny'), address, 'deny')).toBe(true)
  expect(patternCovers(parseRulePattern('*', 'allow'), address, 'allow')).toBe(false)
})
