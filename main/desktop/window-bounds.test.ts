import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { restoreBounds, saveBounds } from './window-bounds.ts'

const display = { x: 0, y: 0, width: 1920, height: 1080 }
const standard = { width: 1280, height: 820, maximized: false }
let file: string
beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), 'gatehouse-bounds-')), 'window.json')
})

test('the window comes back where it was', () => {
  saveBounds(file, { x: 100, y: 50, width: 900, height: 700, maximized: true })
  expect(restoreBounds(file, [display])).toEqual({ x: 100, y: 50, width: 900, height: 700, maximized: true })
})

test('a window of a display that is gone keeps its size and is placed anew', () => {
  saveBounds(file, { x: 2500, y: 50, width: 900, height: 700, maximized: false })
  expect(restoreBounds(file, [display])).toEqual({ width: 900, height: 700, maximized: false })
})

test.each(['', '{', '[]', 'null', '{"width":"900","height":700}'])('a memory of %j gives the default', (text) => {
  writeFileSync(file, text)
  expect(restoreBounds(file, [display])).toEqual(standard)
})

test('a memory smaller than the smallest window is widened', () => {
  saveBounds(file, { width: 10, height: 10, maximized: false })
  expect(restoreBounds(file, [display])).toEqual({ width: 420, height: 360, maximized: false })
})
