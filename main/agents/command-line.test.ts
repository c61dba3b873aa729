import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { commandLineWords } from './command-line.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-words-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

it('is "gatehouse" only where that name starts this very program', () => {
  const program = join(folder, 'program')
  writeFileSync(program, '')
  symlinkSync(program, join(folder, 'gatehouse'))
  writeFileSync(join(folder, 'other'), '')
  expect(commandLineWords(program, () => join(folder, 'gatehouse'))).toEqual(['gatehouse'])
  for (const found of [undefined, join(folder, 'other'), join(folder, 'gone')])
    expect(commandLineWords(program, () => found)).toEqual(['node', program])
})
