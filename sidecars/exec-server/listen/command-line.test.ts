import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseCommandLine } from './command-line.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-cli-'))
  writeFileSync(join(folder, 'token'), '  secret\n')
  writeFileSync(join(folder, 'empty'), '\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const failure = (argv: string[]) => {
  try {
    parseCommandLine(argv)
    return undefined
  } catch (error) {
    return { message: (error as Error).message, exitCode: (error as { exitCode?: number }).exitCode }
  }
}

describe('the command line of the exec server', () => {
  it('listens on a loopback port of its own choice when nothing is said', () => {
    expect(parseCommandLine([])).toMatchObject({
      address: { kind: 'websocket', host: '127.0.0.1', port: 0 },
      isAuthorized: false,
    })
    expect(parseCommandLine(['--listen=stdio', '--concurrent-requests', '8']).address).toEqual({ kind: 'stdio' })
  })

  it('takes a token from a file without its line end, or as a hash', () => {
    const byFile = parseCommandLine(['--ws-auth', 'capability-token', '--ws-token-file', join(folder, 'token')])
    expect(byFile.authorize('Bearer secret')).toBeUndefined()
    expect(byFile.authorize('Bearer secre')).toBe('invalid websocket bearer token')
    const hash = createHash('sha256').update('secret').digest('hex').toUpperCase()
    const byHash = parseCommandLine(['--ws-auth', 'capability-token', '--ws-token-sha256', hash])
    expect(byHash.authorize('bearer secret')).toBeUndefined()
    expect(byHash.authorize(undefined)).toBe('missing websocket bearer token')
  })

  it.each([
    ['a token without --ws-auth', ['--ws-token-file', 'x'], 1, '--ws-token-file needs --ws-auth'],
    ['--ws-auth without a token', ['--ws-auth', 'capability-token'], 1, 'needs one of'],
    [
      'two tokens',
      ['--ws-auth', 'capability-token', '--ws-token-file', 'a', '--ws-token-sha256', 'b'],
      1,
      'needs one of',
    ],
    ['a bad hash', ['--ws-auth', 'capability-token', '--ws-token-sha256', 'zz'], 1, '64 hexadecimal digits'],
    ['a missing secret', ['--ws-auth', 'signed-bearer-token'], 1, '--ws-shared-secret-file'],
    ['a flag of the other kind', ['--ws-auth', 'capability-token', '--ws-issuer', 'x'], 1, 'does not go with'],
    ['an unreadable file', ['--ws-auth', 'capability-token', '--ws-token-file', '/nonexistent/t'], 1, 'ENOENT'],
    ['an unknown kind', ['--ws-auth', 'magic'], 2, '"magic"'],
    ['an unknown flag', ['--wat'], 2, '--wat'],
    ['no concurrency', ['--concurrent-requests', '0'], 2, 'at least 1'],
    [
      'a bad skew',
      ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', 'TOKEN', '--ws-max-clock-skew-seconds', '-1'],
      2,
      '',
    ],
  ])('refuses %s', (_, argv, exitCode, words) => {
    const refused = failure(argv.map((word) => (word === 'TOKEN' ? join(folder, 'token') : word)))
    expect(refused).toMatchObject({ exitCode })
    expect(refused?.message).toContain(words)
  })

  it('refuses an empty secret', () => {
    expect(failure(['--ws-auth', 'capability-token', '--ws-token-file', join(folder, 'empty')])?.message).toContain(
      'is empty',
    )
  })

  it('E115 refuses to listen beyond loopback without a token', () => {
    expect(failure(['--listen', 'ws://0.0.0.0:0'])?.message).toContain(
      'refusing to listen on 0.0.0.0 without --ws-auth',
    )
    expect(failure(['--listen', 'ws://[::]:0'])?.message).toContain('without --ws-auth')
    expect(parseCommandLine(['--listen', 'ws://[::1]:0']).isAuthorized).toBe(false)
    const guarded = ['--ws-auth', 'capability-token', '--ws-token-file', join(folder, 'token')]
    expect(parseCommandLine(['--listen', 'ws://0.0.0.0:0', ...guarded]).isAuthorized).toBe(true)
  })
})

describe('a server that is registered instead of listening', () => {
  const remote = ['--remote', 'https://registry.test/base', '--environment-id', 'env_1-x']
  const address = { kind: 'remote', baseUrl: 'https://registry.test/base', environmentId: 'env_1-x' }

  it('shows CODEX_API_KEY, or what stdin says', () => {
    expect(parseCommandLine(remote, { CODEX_API_KEY: ' key\n' }).address).toEqual({
      ...address,
      token: 'key',
      endsWithStdin: false,
      forwardTo: undefined,
    })
    const flags = ['--registration-bearer-stdin', '--exit-on-stdin-close', '--name', 'n']
    expect(parseCommandLine([...remote, ...flags], { CODEX_API_KEY: 'key' }).address).toEqual({
      ...address,
      token: undefined,
      endsWithStdin: true,
      forwardTo: undefined,
    })
  })

  it('may hand everything on', () => {
    const argv = ['forward', '--connect', 'ws://127.0.0.1:4512', ...remote]
    expect(parseCommandLine(argv, { CODEX_API_KEY: 'key' }).address).toMatchObject({ forwardTo: 'ws://127.0.0.1:4512' })
  })

  it.each<[string[], number, RegExp]>([
    [['forward', ...remote], 2, /forward and --connect go together/],
    [[...remote, '--connect', 'ws://x:1'], 2, /forward and --connect go together/],
    [['forward', '--connect', 'ws://x:1'], 2, /forward needs --remote/],
    [['forward', '--connect', 'http://x', ...remote], 1, /--connect: expected ws:/],
    [remote, 1, /needs CODEX_API_KEY/],
    [['--remote', 'registry.test', '--environment-id', 'e'], 1, /expected https:\/\/HOST/],
    [['--remote', 'https://registry.test'], 2, /needs --environment-id/],
    [['--remote', 'https://registry.test', '--environment-id', '../x'], 1, /"..\/x" may have letters/],
    [[...remote, '--listen', 'stdio'], 2, /--listen does not go with --remote/],
    [[...remote, '--ws-auth', 'capability-token'], 2, /--ws-auth does not go with --remote/],
    [['--environment-id', 'e'], 2, /--environment-id needs --remote/],
    [['--exit-on-stdin-close'], 2, /--exit-on-stdin-close needs --remote/],
  ])('%j is refused', (argv, exitCode, message) => {
    expect(() => parseCommandLine(argv, {})).toThrow(message)
    expect(() => parseCommandLine(argv, {})).toThrow(expect.objectContaining({ exitCode }))
  })
})
