import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../../testing/fast-check.ts'
import { expect, it } from 'vitest'
import { diffLines } from './diff-lines.ts'
import { applyEdits } from './patch-text.ts'
import { readTextFile, writeTextFile } from './text-file.ts'
import { unifiedHunks } from './unified-diff.ts'

const file = (lines: readonly string[]) => readTextFile(Buffer.from(lines.map((l) => `${l}\n`).join('')), 'f')

it('edits turn the old text into the new one, whatever they are', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 14 })
  fc.assert(
    fc.property(text, text, (old, now) => {
      const edits = diffLines(file(old), file(now))
      expect(Buffer.from(writeTextFile(applyEdits(file(old), edits))).toString()).toBe(
        Buffer.from(writeTextFile(file(now))).toString(),
      )
    }),
  )
})

it('is as short as the change: one line in a large file is one edit', () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}`)
  const changed = lines.with ? lines.with(10_000, 'X') : lines
  expect(diffLines(file(lines), file(changed))).toEqual([{ start: 10_000, removed: 1, inserted: ['X'] }])
})

it('gives a diff that patch(1) applies', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gh-diff-'))
  try {
    const old = Array.from({ length: 60 }, (_, i) => `l${i % 7}`)
    const now = [...old.slice(3, 20), 'new', ...old.slice(25), 'end']
    writeFileSync(join(folder, 'f'), writeTextFile(file(old)))
    const hunks = unifiedHunks(file(old), file(now), diffLines(file(old), file(now)))
    execFileSync('patch', ['-s', join(folder, 'f')], { input: `--- a\n+++ b\n${hunks}` })
    expect(readFileSync(join(folder, 'f'), 'utf8')).toBe(now.map((l) => `${l}\n`).join(''))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
