import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packAsar } from './asar.mjs'

test("an archive written here is read by Electron's own tool", () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-asar-'))
  const files = { 'package.json': '{"main":"main.cjs"}', 'main.cjs': 'console.log("grüezi")\n', 'empty.txt': '' }
  const archive = join(folder, 'app.asar')
  writeFileSync(archive, packAsar(files))
  const asar = join(import.meta.dirname, '../../node_modules/.bin/asar')
  execFileSync(asar, ['extract', archive, join(folder, 'out')])
  for (const [name, text] of Object.entries(files)) expect(readFileSync(join(folder, 'out', name), 'utf8')).toBe(text)
})
