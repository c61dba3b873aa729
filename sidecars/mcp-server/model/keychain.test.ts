import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KeychainError, systemKeychain, type Keychain } from './keychain.ts'
import { MissingKey, providerHeaders, resolveProvider } from './provider.ts'
import { SystemSecrets } from './provider-secrets.ts'

let folder: string
let path: string | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gh-keychain-'))
  path = process.env.PATH
})
afterEach(() => {
  process.env.PATH = path
  rmSync(folder, { recursive: true, force: true })
})

/** Stands in for libsecret's program: keeps one file for each account, and what it was called with. */
function secretTool(script?: string): void {
  const tool = join(folder, 'secret-tool')
  writeFileSync(
    tool,
    script ??
      `#!/bin/sh
echo "$@" >> ${folder}/calls
for last; do :; done
case "$1" in
  store) cat > "${folder}/key-$last" ;;
  lookup) [ -f "${folder}/key-$last" ] && cat "${folder}/key-$last" || exit 1 ;;
  clear) rm -f "${folder}/key-$last" ;;
esac
`,
  )
  chmodSync(tool, 0o755)
  process.env.PATH = `${folder}:${path}`
}
const refusal = (keychain: Keychain) =>
  keychain.read('x').then(
    () => expect.unreachable(),
    (error: unknown) => {
      expect(error).toBeInstanceOf(KeychainError)
      return (error as Error).message
    },
  )

describe('on Linux', () => {
  it('keeps, finds and forgets a key, which is never an argument', async () => {
    secretTool()
    const keychain = systemKeychain('linux')
    expect(await keychain.read('mine')).toBeNull()
    await keychain.write('mine', 'sk "quoted" \\ $x')
    expect(await keychain.read('mine')).toBe('sk "quoted" \\ $x')
    expect(await keychain.read('other')).toBeNull()
    await keychain.write('mine', null)
    expect(await keychain.read('mine')).toBeNull()
    expect(readFileSync(join(folder, 'calls'), 'utf8')).not.toContain('sk')
  })

  it('says what to do when there is no program or it fails', async () => {
    process.env.PATH = folder
    expect(await refusal(systemKeychain('linux'))).toMatch(/install libsecret-tools, or name an environment variable/)
    process.env.PATH = path
    secretTool('#!/bin/sh\necho "Cannot autolaunch D-Bus without X11" >&2\nexit 1\n')
    expect(await refusal(systemKeychain('linux'))).toMatch(/Cannot autolaunch D-Bus.*env_key/)
  })
})

it('on macOS talks to `security` with the key on its stdin', async () => {
  const calls: { args: readonly string[]; input: string | undefined }[] = []
  let answer = { code: 0, stdout: 'sk-1\n', stderr: '' }
  const keychain = systemKeychain('darwin', (_, args, input) => {
    calls.push({ args, input })
    return Promise.resolve(answer)
  })
  await keychain.write('mine', 'a"b\\c')
  expect(calls).toEqual([{ args: ['-i'], input: 'add-generic-password -U -s "gatehouse" -a "mine" -w "a\\"b\\\\c"\n' }])
  expect(await keychain.read('mine')).toBe('sk-1')
  answer = { code: 44, stdout: '', stderr: 'not found' }
  expect(await keychain.read('mine')).toBeNull()
  await keychain.write('mine', null)
  answer = { code: 51, stdout: '', stderr: 'User interaction is not allowed.' }
  expect(await refusal(keychain)).toContain('User interaction is not allowed.')
})

it('on other systems names the way that is left', async () => {
  expect(await refusal(systemKeychain('win32'))).toMatch(/no keychain is known on this system \(win32\).*env_key/)
})

describe('the key of a provider', () => {
  const provider = (keys: object) => resolveProvider('mine', { mine: { base_url: 'http://127.0.0.1:1/v1', ...keys } })
  const kept = new Map<string, string>()
  let reads = 0
  let now = 0
  const secrets = new SystemSecrets(
    (name) => ({ KEY: 'from the variable', EMPTY: ' ' })[name],
    {
      read: (id) => {
        reads++
        return Promise.resolve(kept.get(id) ?? null)
      },
      write: (id, key) => Promise.resolve(key === null ? void kept.delete(id) : void kept.set(id, key)),
    },
    () => now,
  )
  const bearer = async (keys: object) => (await providerHeaders(provider(keys), secrets)).authorization

  it('comes from the configuration, the keychain or a variable, in this order', async () => {
    kept.set('mine', 'from the keychain')
    expect(await bearer({})).toBeUndefined()
    expect(await bearer({ env_key: 'KEY' })).toBe('Bearer from the variable')
    expect(await bearer({ env_key: 'KEY', keychain: true })).toBe('Bearer from the keychain')
    expect(await bearer({ keychain: true, experimental_bearer_token: 'written' })).toBe('Bearer written')
    await secrets.keep('mine', null)
    expect(await bearer({ env_key: 'KEY', keychain: true })).toBe('Bearer from the variable')
    await expect(bearer({ keychain: true })).rejects.toThrow(/keychain has no key for mine/)
    await expect(bearer({ env_key: 'EMPTY' })).rejects.toThrow(MissingKey)
  })

  it('is remembered for a while, and a new one counts at once', async () => {
    await secrets.keep('mine', 'first')
    reads = 0
    for (let i = 0; i < 3; i++) expect(await bearer({ keychain: true })).toBe('Bearer first')
    expect(reads).toBe(1)
    kept.set('mine', 'changed elsewhere')
    now = 61_000
    expect(await bearer({ keychain: true })).toBe('Bearer changed elsewhere')
    await secrets.keep('mine', 'second')
    expect(await bearer({ keychain: true })).toBe('Bearer second')
  })
})
