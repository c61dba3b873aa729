import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ConfigFile } from './config-file.ts'

it('sees every change of the file, also one of the same length in the same moment', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gh-config-'))
  try {
    const file = new ConfigFile(home)
    const model = async () => (await file.load()).config.model
    expect(await model()).toBe(undefined)
    for (let i = 0; i < 20; i++) {
      writeFileSync(file.path, `model = "m${i % 10}"`)
      expect(await model()).toBe(`m${i % 10}`)
    }
    // Nothing that a program sets may hide a change either.
    utimesSync(file.path, 1, 1)
    expect(await model()).toBe('m9')
    writeFileSync(file.path, 'model = "m0"')
    utimesSync(file.path, 1, 1)
    expect(await model()).toBe('m0')
    await file.write([{ keyPath: 'model', value: 'written', upsert: true }], null)
    expect(await model()).toBe('written')
    rmSync(file.path)
    expect(await model()).toBe(undefined)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
