import { execFileSync } from 'node:child_process'
import fc from '../../sidecars/testing/fast-check.ts'
import { expect, it } from 'vitest'
import { shellQuote } from './shell-quote.ts'

/** The words that bash makes of a line. */
function readByBash(line: string): string[] {
  const output = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], {
    encoding: 'utf8',
    env: { LC_ALL: 'C.UTF-8' },
  })
  return output.split('\0').slice(0, -1)
}

it('E82 gives the same words when pasted into bash', () => {
  const argv = [
    'echo',
    'a b; rm -rf x',
    '',
    "it's",
    '$HOME',
    '*',
    '-n',
    'new\nline',
    'tab\there',
    '~',
    '{a,b}',
    'A=1',
    '!x',
  ]
  expect(shellQuote(argv)).toBe(
    `echo 'a b; rm -rf x' '' 'it'\\''s' '$HOME' '*' -n $'new\\nline' $'tab\\there' '~' '{a,b}' 'A=1' '!x'`,
  )
  expect(readByBash(shellQuote(argv))).toEqual(argv)
})

it('E80 shows hidden characters as escapes and leaves readable scripts alone', () => {
  expect(shellQuote(['ls', '\u202ex', 'קובץ.txt', '\u{e0061}'])).toBe("ls $'\\u202ex' קובץ.txt $'\\U000e0061'")
})

it('gives the same words whatever they are', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', ' ', "'", '"', '\\', '$', '`', '\n', '\t', '!', '=', '\u202e', '\u0001', 'é', '🙂', '#'),
  })
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (argv) => {
      expect(readByBash(shellQuote(argv))).toEqual(argv)
    }),
    { numRuns: 40 },
  )
})
