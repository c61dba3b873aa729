import { expect, it } from 'vitest'
import { parseRulePattern } from '../../protocol/host-pattern.ts'
import { covers } from './pattern-cover.ts'

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
])('%s covers %s: %s', (managed, candidate, expected) => {
  expect(covers(parseRulePattern(managed, 'allow'), parseRulePattern(candidate, 'allow'))).toBe(expected)
})
