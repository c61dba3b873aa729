import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readSpans } from './read-spans.ts'

it('reads pieces near and far, in any order, and up to the end of the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gh-spans-'))
  try {
    const text = Array.from({ length: 400_000 }, (_, i) => String(i % 10)).join('')
    const path = join(folder, 'f')
    writeFileSync(path, text)
    const spans = [
      { offset: 390_000, length: 7 },
      { offset: 3, length: 5 },
      { offset: 8, length: 90_000 },
      { offset: 100_000, length: 1 },
      { offset: 399_998, length: 100 },
      { offset: 500_000, length: 3 },
    ]
    const found = readSpans(path, spans)
    expect(found).toEqual(spans.map(({ offset, length }) => text.slice(offset, offset + length)))
    expect(readSpans(path, [])).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
