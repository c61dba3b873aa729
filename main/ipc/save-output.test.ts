import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { ProcessReadView } from '../../preload/api.ts'
import { saveOutput, type ReadOutput } from './save-output.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-save-'))
})

const chunk = (seq: number, text: string) => ({ seq, stream: 'pty' as const, bytes: new TextEncoder().encode(text) })
/** Answers as the exec server does: pieces after a cursor, then nothing. */
function source(...answers: ProcessReadView[]): ReadOutput {
  return async (afterSeq) =>
    answers.find(({ chunks }) => (chunks[0]?.seq ?? 0) > afterSeq) ?? { chunks: [], gap: null, nextSeq: 99 }
}

test('raw output is written byte for byte', async () => {
  const path = join(folder, 'out.bin')
  const read = source(
    { chunks: [chunk(1, '\x1b[31ma\r\n'), chunk(2, 'b')], gap: null, nextSeq: 3 },
    { chunks: [chunk(3, '\x00c')], gap: null, nextSeq: 4 },
  )
  expect(await saveOutput(read, path, 'raw')).toBe(11)
  expect(readFileSync(path, 'latin1')).toBe('\x1b[31ma\r\nb\x00c')
})

test('text output has no escape sequences and says what is missing', async () => {
  const path = join(folder, 'out.txt')
  const read = source({
    chunks: [chunk(8, '\x1b[3'), chunk(9, '1mred\x1b[0m\r\n')],
    gap: { fromSeq: 1, toSeq: 7, bytes: 700 },
    nextSeq: 10,
  })
  await saveOutput(read, path, 'text')
  expect(readFileSync(path, 'utf8')).toBe('\n[700 bytes are no longer kept]\nred\n')
})

test('a failure leaves neither a part nor a changed file behind', async () => {
  const path = join(folder, 'out.txt')
  writeFileSync(path, 'older')
  const read: ReadOutput = () => Promise.reject(new Error('exec server is restarting'))
  await expect(saveOutput(read, path, 'text')).rejects.toThrow('exec server is restarting')
  expect(readdirSync(folder)).toEqual(['out.txt'])
  expect(readFileSync(path, 'utf8')).toBe('older')
})
