import { describe, expect, it } from 'vitest'
import { ShellSnapshot, snapshotScript } from './shell-snapshot.ts'

const snapshot = (before: Record<string, string>, after: Record<string, string>) =>
  new ShellSnapshot(before, after, '/script')

describe('an environment', () => {
  it('gets what the startup files set, changed and removed, and keeps the rest', () => {
    const made = snapshot({ PATH: '/bin', GONE: '1', CALL: 'a' }, { PATH: '/mine:/bin', NEW: 'x', CALL: 'a' })
    expect(made.environmentFor({ PATH: '/bin', GONE: '1', CALL: 'b', OTHER: 'y' })).toEqual({
      PATH: '/mine:/bin',
      NEW: 'x',
      CALL: 'b',
      OTHER: 'y',
    })
  })
  it('that differs where the startup files did something cannot be made from it', () => {
    const made = snapshot({ PATH: '/bin' }, { PATH: '/mine:/bin', NEW: 'x' })
    expect(made.environmentFor({ PATH: '/usr/bin' })).toBeUndefined()
    expect(made.environmentFor({})).toBeUndefined()
    expect(made.environmentFor({ PATH: '/bin', NEW: 'set by the client' })).toBeUndefined()
  })
  it('is left alone where every shell differs by itself', () => {
    const made = snapshot(
      { SHLVL: '1' },
      { PWD: '/tmp', OLDPWD: '/', SHLVL: '2', _: '/usr/bin/env', 'BASH_FUNC_f%%': '() {' },
    )
    expect(made.environmentFor({ A: '1' })).toEqual({ A: '1' })
  })
})

it('a script sets what can be set: functions before aliases, and last what could end it', () => {
  const script = snapshotScript({
    options: 'shopt -s expand_aliases\nshopt -u login_shell\nshopt -u restricted_shell',
    functions: 'f () \n{ \n    :\n}',
    aliases: "alias f='g'",
    settings: 'umask 0077\nset -o errexit',
    cwd: '/',
    environment: {},
  })
  expect(script.split('\n')).toEqual([
    'unset BASH_ENV',
    'shopt -s expand_aliases',
    'f () ',
    '{ ',
    '    :',
    '}',
    "alias f='g'",
    'umask 0077',
    'set -o errexit',
  ])
})
