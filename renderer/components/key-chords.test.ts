import { expect, test } from 'vitest'
import { matchesChord, writeChord } from './key-chords.ts'

const press = (key: string, over: Partial<KeyboardEvent> = {}) => ({
  key,
  code: '',
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...over,
})

test('a chord matches only with exactly its modifiers', () => {
  expect(matchesChord(press('k', { ctrlKey: true }), 'Mod+K', false)).toBe(true)
  expect(matchesChord(press('k'), 'Mod+K', false)).toBe(false)
  expect(matchesChord(press('k', { ctrlKey: true, shiftKey: true }), 'Mod+K', false)).toBe(false)
  expect(matchesChord(press('k', { ctrlKey: true, altKey: true }), 'Mod+K', false)).toBe(false)
  expect(matchesChord(press('F8', { shiftKey: true }), 'Shift+F8', false)).toBe(true)
})

test('Mod is Command on a Mac and Control elsewhere', () => {
  const command = press('Enter', { metaKey: true })
  const control = press('Enter', { ctrlKey: true })
  expect([matchesChord(command, 'Mod+Enter', true), matchesChord(control, 'Mod+Enter', true)]).toEqual([true, false])
  expect([matchesChord(command, 'Mod+Enter', false), matchesChord(control, 'Mod+Enter', false)]).toEqual([false, true])
})

test('a digit is found by its place on layouts that hide it behind Shift', () => {
  expect(matchesChord(press('&', { ctrlKey: true, code: 'Digit1' }), 'Mod+1', false)).toBe(true)
})

test('chords are written as the platform writes them', () => {
  expect([writeChord('Mod+Shift+Enter', false), writeChord('Mod+Shift+K', true)]).toEqual(['Ctrl+Shift+Enter', '⇧⌘K'])
})
