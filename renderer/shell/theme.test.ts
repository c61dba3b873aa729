import { expect, test } from 'vitest'
import { resolveTheme } from './theme.ts'

test.each([
  ['system', { light: false, moreContrast: false }, 'dark'],
  ['system', { light: true, moreContrast: false }, 'light'],
  ['system', { light: true, moreContrast: true }, 'high-contrast'],
  ['dark', { light: true, moreContrast: true }, 'dark'],
] as const)('the setting %s on a desktop that prefers %j shows %s', (chosen, desktop, theme) => {
  expect(resolveTheme(chosen, desktop)).toBe(theme)
})
