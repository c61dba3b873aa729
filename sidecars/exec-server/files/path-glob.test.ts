import { expect, it } from 'vitest'
import { compileGlob } from './path-glob.ts'

it.each([
  ['/ws/*.env', '/ws/a.env', true],
  ['/ws/*.env', '/ws/sub/a.env', false],
  ['/ws/**/*.env', '/ws/a.env', true],
  ['/ws/**/*.env', '/ws/x/y/a.env', true],
  ['/ws/**/.env', '/ws/.env', true],
  ['/ws/**/.env', '/ws/.environment', false],
  ['/ws/**', '/ws/anything/at/all', true],
  ['/ws/secret', '/ws/secret/below/it', true],
  ['/ws/secret', '/ws/secrets', false],
  ['/ws/?.txt', '/ws/a.txt', true],
  ['/ws/?.txt', '/ws/ab.txt', false],
  ['/ws/[a-c].txt', '/ws/b.txt', true],
  ['/ws/[!a-c].txt', '/ws/b.txt', false],
  ['/ws/[a.txt', '/ws/[a.txt', true],
  ['/ws/{a,b/c}/x', '/ws/b/c/x', true],
  ['/ws/{a,b}{1,2}', '/ws/b2', true],
  ['/ws/{a,b}{1,2}', '/ws/b3', false],
  ['/ws/\\*', '/ws/*', true],
  ['/ws/\\*', '/ws/x', false],
  ['/ws/*a*b*', '/ws/xxaxxbxx', true],
])('%s covers %s: %s', (pattern, path, isCovered) => {
  expect(compileGlob(pattern).covers(path)).toBe(isCovered)
})

it('refuses a pattern that multiplies without end', () => {
  expect(() => compileGlob('{a,b}'.repeat(20))).toThrow(/alternatives/)
})

it('a pattern made to be slow is not', () => {
  const pattern = `/ws/${'*a'.repeat(40)}${'/**'.repeat(40)}/z`
  const path = `/ws/${'a'.repeat(255)}/${'b/'.repeat(400)}c`
  expect(compileGlob(pattern).covers(path)).toBe(false)
})
