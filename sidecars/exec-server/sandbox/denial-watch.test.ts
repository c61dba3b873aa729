import { expect, it } from 'vitest'
import { DenialWatch } from './denial-watch.ts'

function after(...texts: string[]): DenialWatch {
  const watch = new DenialWatch()
  for (const text of texts) watch.note({ stream: 'stderr', bytes: Buffer.from(text) })
  return watch
}

it.each([
  ['touch: cannot touch /x: Read-only file system', 1, true],
  ['bash: /etc/x: Permission denied', 126, true],
  ['socket: Operation not permitted', 2, true],
  ['mv: cannot move .git: Device or resource busy', 1, true],
  ['', 128 + 31, true],
  ['', 1, false],
  ['', 2, false],
  ['bash: nope: command not found', 127, false],
  ['assertion failed', 101, false],
  ['Permission denied', 0, false],
])('%j with exit code %i: denied is %s', (text, exitCode, isDenied) => {
  expect(after(text).isDenied(exitCode)).toBe(isDenied)
})

it('nothing is known of a process that runs', () => {
  expect(after('Permission denied').isDenied(null)).toBe(false)
})

it('words that come in pieces count, words that are long past do not', () => {
  expect(after('Permission ', 'denied').isDenied(1)).toBe(true)
  expect(after('Permission denied', 'x'.repeat(5_000)).isDenied(1)).toBe(false)
})

it('bytes are copied: their block is used again', () => {
  const watch = new DenialWatch()
  const block = Buffer.from('Permission denied')
  watch.note({ stream: 'stdout', bytes: block })
  block.fill(0)
  expect(watch.isDenied(1)).toBe(true)
})
