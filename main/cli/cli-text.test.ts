import { describe, expect, test } from 'vitest'
import type { Subject } from '../../preload/api.ts'
import { readArguments, UsageError } from './command.ts'
import { subjectDetails, subjectLine } from './describe-subject.ts'
import { assignment } from './env.ts'
import { findById } from './find-by-id.ts'
import { age, countOf, shellQuoted, shortened, table, visible, visibleLines } from './print.ts'
import { exitCodeOf, readRunArguments } from './run.ts'

describe('text that agents wrote', () => {
  test('cannot move the cursor, hide or reorder anything in the terminal', () => {
    expect(visible('a\u001b[2Kb\rc\u202ed\u200be\u0007\u009b1m')).toBe(
      'a\\u{001b}[2Kb\\u{000d}c\\u{202e}d\\u{200b}e\\u{0007}\\u{009b}1m',
    )
    expect(visible('one\ntwo')).toBe('one\\u{000a}two')
    expect(visibleLines('one\ntwo\u001b')).toBe('one\ntwo\\u{001b}')
    expect(visible('grüße 日本 😀')).toBe('grüße 日本 😀')
  })

  test('a command is shown as a shell would need it', () => {
    expect(shellQuoted(['ls', '-la', '/tmp/a b', '', "it's", '$HOME'])).toBe(`ls -la '/tmp/a b' '' 'it'\\''s' '$HOME'`)
  })

  test('a subject is shown with everything the decision is bound to', () => {
    const subject: Subject = {
      kind: 'command',
      argv: ['rm', '-rf', 'x\u202e'],
      cwd: '/work',
      envChanges: { PATH: '/evil', OLD: null },
      tty: false,
      stdin: 'none',
      sandbox: 'none',
    }
    expect(subjectLine(subject)).toBe("rm -rf 'x\\u{202e}'")
    expect(subjectDetails(subject)).toEqual([
      "command  rm -rf 'x\\u{202e}'",
      'folder   /work',
      'sandbox  none',
      'environment',
      '  PATH=/evil',
      '  OLD removed',
    ])
    expect(subjectLine({ kind: 'connection', host: 'a.example', port: 443, protocol: 'https', method: 'GET' })).toBe(
      'GET a.example:443 (https)',
    )
  })
})

describe('arguments', () => {
  test('an unknown option, a missing and a surplus argument are named', () => {
    const options = { scope: { type: 'string' }, json: { type: 'boolean' } } as const
    expect(() => readArguments(['--scop', 'x'], options)).toThrow(new UsageError("Unknown option '--scop'"))
    expect(() => readArguments(['--scope'], options)).toThrow(/--scope/)
    expect(() => readArguments([], options, ['ID'])).toThrow('ID is missing')
    expect(() => readArguments(['a', 'b'], options, ['ID'])).toThrow('unexpected argument "b"')
    expect(readArguments(['a', '--json'], options, ['ID'])).toEqual({ values: { json: true }, positionals: ['a'] })
  })

  test('run keeps the options of the command out of its own', () => {
    expect(readRunArguments(['--no-tty', 'ls', '--no-tty', '--', '-l'])).toEqual({
      command: ['ls', '--no-tty', '--', '-l'],
      wantsTty: false,
    })
    expect(readRunArguments(['--', '-odd-name'])).toEqual({ command: ['-odd-name'], wantsTty: true })
    expect(() => readRunArguments(['--tty', 'ls'])).toThrow('unknown option --tty')
    expect(() => readRunArguments(['--'])).toThrow('COMMAND is missing')
    expect(() => readRunArguments(['--', '', 'x'])).toThrow('COMMAND is empty')
  })

  test('an id may be shortened while it fits only one', () => {
    const entries = [{ id: 'req_abc1' }, { id: 'req_abd2' }]
    expect(findById(entries, 'req_abc1', 'request')).toBe(entries[0])
    expect(findById(entries, 'bd2', 'request')).toBe(entries[1])
    expect(() => findById(entries, 'req_ab', 'request')).toThrow('req_ab fits several: req_abc1, req_abd2')
    expect(() => findById(entries, 'xyz', 'request')).toThrow('there is no request xyz')
    expect(() => findById(entries, '1', 'request')).toThrow('there is no request 1')
  })
})

test('exit codes are those of shells', () => {
  expect(exitCodeOf({ exitCode: 7, exitSignal: null })).toBe(7)
  expect(exitCodeOf({ exitCode: null, exitSignal: 'SIGTERM' })).toBe(143)
  expect(exitCodeOf({ exitCode: 137, exitSignal: 'SIGKILL' })).toBe(137)
  expect(exitCodeOf({ exitCode: null, exitSignal: null })).toBe(125)
})

test('variables are quoted so that the shell takes them as they are', () => {
  expect(assignment('sh', 'A', "x'y $(z)")).toBe(`export A='x'\\''y $(z)'`)
  expect(assignment('fish', 'A', "x'y\\")).toBe(`set -gx A 'x\\'y\\\\'`)
})

test('long text is cut where it is only named, and counts are words', () => {
  expect(shortened('abcdef', 6)).toBe('abcdef')
  expect(shortened('abcdefg', 6)).toBe('abcde…')
  expect(shortened('abcd😀fg', 6)).toBe('abcd…')
  expect([0, 1, 2].map((count) => countOf(count, 'process', 'processes'))).toEqual([
    '0 processes',
    '1 process',
    '2 processes',
  ])
})

test('tables align and ages are short', () => {
  expect(
    table(
      ['ID', 'WHAT'],
      [
        ['a', 'x'],
        ['long', 'y'],
      ],
    ),
  ).toBe('ID    WHAT\na     x\nlong  y')
  expect([0, 59, 60, 3_600, 200_000].map((seconds) => age(0, seconds * 1000))).toEqual([
    '0 s',
    '59 s',
    '1 min',
    '1 h',
    '2 d',
  ])
})
