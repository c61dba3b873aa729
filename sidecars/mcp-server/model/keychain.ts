/** Keys of model providers in the keychain of the operating system. */
import { spawn } from 'node:child_process'

const SERVICE = 'gatehouse'
/** A keychain may ask the person to unlock it. */
const PATIENCE_MS = 60_000
/** `security` says so for an item that is not there. */
const MAC_NOT_FOUND = 44

/** The keychain cannot be used; says what to do instead. */
export class KeychainError extends Error {
  override readonly name = 'KeychainError'
}

export interface Keychain {
  /** The key kept for a provider, or null. Rejects with KeychainError. */
  read(providerId: string): Promise<string | null>
  /** Keeps a key, or forgets it with null. Rejects with KeychainError. */
  write(providerId: string, key: string | null): Promise<void>
}

interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}
/** Runs a program with a secret on its stdin, never among its arguments. Rejects with the system's error. */
export type RunProgram = (program: string, args: readonly string[], input?: string) => Promise<Outcome>

const OTHERWISE = 'name an environment variable with env_key instead'

/** secret-tool (libsecret) on Linux, `security` on macOS; elsewhere every call rejects. */
export function systemKeychain(platform: string = process.platform, run: RunProgram = runProgram): Keychain {
  if (platform === 'linux') return linuxKeychain(run)
  if (platform === 'darwin') return macKeychain(run)
  const none = () =>
    Promise.reject(new KeychainError(`no keychain is known on this system (${platform}); ${OTHERWISE}`))
  return { read: none, write: none }
}

function linuxKeychain(run: RunProgram): Keychain {
  const tool = async (args: string[], input?: string): Promise<Outcome> => {
    try {
      return await run('secret-tool', args, input)
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      throw new KeychainError(
        missing
          ? `the keychain is reached with secret-tool, which is missing: install libsecret-tools, or ${OTHERWISE}`
          : `secret-tool cannot be run: ${(error as Error).message}; ${OTHERWISE}`,
      )
    }
  }
  const item = (providerId: string): string[] => ['service', SERVICE, 'account', providerId]
  const done = ({ code, stderr }: Outcome): void => {
    if (code !== 0) throw new KeychainError(`the keychain cannot be used: ${said(stderr, code)}; ${OTHERWISE}`)
  }
  return {
    read: async (providerId) => {
      const outcome = await tool(['lookup', ...item(providerId)])
      // Nothing found is exit code 1 as well, but without a word.
      if (outcome.code !== 0 && outcome.stderr.trim() === '') return null
      done(outcome)
      return outcome.stdout === '' ? null : outcome.stdout
    },
    write: async (providerId, key) =>
      done(
        key === null
          ? await tool(['clear', ...item(providerId)])
          : await tool(['store', '--label', `Gatehouse: key of ${providerId}`, ...item(providerId)], key),
      ),
  }
}

function macKeychain(run: RunProgram): Keychain {
  const tool = async (args: string[], input?: string): Promise<Outcome> => {
    try {
      return await run('/usr/bin/security', args, input)
    } catch (error) {
      throw new KeychainError(`security cannot be run: ${(error as Error).message}; ${OTHERWISE}`)
    }
  }
  const done = ({ code, stderr }: Outcome): void => {
    if (code !== 0) throw new KeychainError(`the keychain cannot be used: ${said(stderr, code)}; ${OTHERWISE}`)
  }
  return {
    read: async (providerId) => {
      const outcome = await tool(['find-generic-password', '-s', SERVICE, '-a', providerId, '-w'])
      if (outcome.code === MAC_NOT_FOUND) return null
      done(outcome)
      return outcome.stdout.replace(/\n$/, '')
    },
    write: async (providerId, key) => {
      if (key === null) {
        const outcome = await tool(['delete-generic-password', '-s', SERVICE, '-a', providerId])
        return outcome.code === MAC_NOT_FOUND ? undefined : done(outcome)
      }
      // Commands on stdin: what stands in arguments can be read by every program of the person.
      const line = `add-generic-password -U -s ${quoted(SERVICE)} -a ${quoted(providerId)} -w ${quoted(key)}\n`
      done(await tool(['-i'], line))
    },
  }
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
const said = (stderr: string, code: number | null): string => stderr.trim().split('\n').at(-1) || `exit code ${code}`

const runProgram: RunProgram = (program, args, input) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: PATIENCE_MS })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (part: Buffer) => (stdout += part.toString()))
    child.stderr.on('data', (part: Buffer) => (stderr += part.toString()))
    child.stdin.on('error', () => undefined) // It ended without reading.
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(input ?? '')
  })
