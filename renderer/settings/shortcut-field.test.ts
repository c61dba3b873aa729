import { expect, test } from 'vitest'
import { acceleratorOf } from './shortcut-field.tsx'

const press = (key: string, over = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...over,
})

test.each([
  [press('g', { ctrlKey: true, shiftKey: true }), 'CommandOrControl+Shift+G'],
  [press('g', { metaKey: true, altKey: true }), 'CommandOrControl+Alt+G'],
  [press('F8'), 'F8'],
  [press(' ', { ctrlKey: true }), 'CommandOrControl+Space'],
  [press('g'), null],
  [press('G', { shiftKey: true }), null],
  [press('Control', { ctrlKey: true }), null],
])('%j is recorded as %s', (event, accelerator) => {
  expect(acceleratorOf(event)).toBe(accelerator)
})
