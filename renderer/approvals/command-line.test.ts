import { execFileSync } from 'node:child_process'
import fc from '../../sidecars/testing/fast-check.ts'
import { expect, test } from 'vitest'
import { quoteCommandLine, shellCallOf } from './command-line.ts'

/** What bash makes of a line: its words, by way of a program that prints them NUL-separated. */
function argvInBash(line: string): string[] {
  const out = execFileSync('bash', ['--norc', '-c', `set -- ${line}; printf '%s\\0' "$@"`], {
    env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] ?? '' },
  })
  return out.toString('utf8').split('\0').slice(0, -1)
}

test.each([
  [['echo', 'a b; rm -rf x', '', "it's", '$HOME', '*', '-n', 'new\nline', 'tab\there']],
  [['cd', 'p', '&&', 'ls']],
  [['rg', '--files', '|', 'xargs', 'wc']],
  [['printf', '\x1b[31m', '\r\n', '\u0085', '\b\b', "'\x07'", '\\']],
  [['ls', '~', '~root', 'a=b', '{a,b}', '!!', '#x', '-', '--']],
])('E82 the displayed line of %j, pasted into bash, yields the same argv', (argv) => {
  expect(argvInBash(quoteCommandLine(argv))).toEqual(argv)
})

test('any argv survives the way through the displayed line', () => {
  const word = fc.string({ unit: 'binary', maxLength: 12 }).map((s) => s.replaceAll('\0', ''))
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (argv) => {
      expect(argvInBash(quoteCommandLine(argv))).toEqual(argv)
    }),
    { numRuns: 60 },
  )
})

test.each(['if', 'A=1', '!', 'time', '{'])('a program called %s is quoted so that it stays a program', (name) => {
  expect(quoteCommandLine([name, 'x'])).toBe(`'${name}' x`)
})

test.each([
  [['bash', '-lc', 'ls'], { shell: ['bash', '-lc'], script: 'ls', parameters: [] }],
  [['/bin/sh', '-c', 'echo $1', 'sh', 'a'], { shell: ['/bin/sh', '-c'], script: 'echo $1', parameters: ['sh', 'a'] }],
  [['bash', '-c', '-l', 'ls'], { shell: ['bash', '-c', '-l'], script: 'ls', parameters: [] }],
  [
    ['zsh', '-o', 'extendedglob', '-c', 'ls'],
    { shell: ['zsh', '-o', 'extendedglob', '-c'], script: 'ls', parameters: [] },
  ],
  [['bash', '-c', '--', '-x'], { shell: ['bash', '-c', '--'], script: '-x', parameters: [] }],
  [['bash', 'script.sh', '-c', 'ls'], null],
  [['bash', '-c'], null],
  [['git', '-c', 'a=b', 'status'], null],
  [['fish-and-chips', '-c', 'x'], null],
])('the script of %j is found', (argv, call) => {
  expect(shellCallOf(argv)).toEqual(call)
})
