import { readFileSync } from 'node:fs'
import { capabilityToken, capabilityTokenOf, type Authorize } from './authorization.ts'
import { signedToken } from './signed-token.ts'

/** The flags of every program that listens on a WebSocket, for `parseArgs`. */
export const AUTHORIZATION_FLAGS = {
  'ws-auth': { type: 'string' },
  'ws-token-file': { type: 'string' },
  'ws-token-sha256': { type: 'string' },
  'ws-shared-secret-file': { type: 'string' },
  'ws-issuer': { type: 'string' },
  'ws-audience': { type: 'string' },
  'ws-max-clock-skew-seconds': { type: 'string' },
} as const
type Flag = keyof typeof AUTHORIZATION_FLAGS
export type AuthorizationValues = { readonly [F in Flag]?: string | undefined }

/** A flag cannot be used; `exitCode` as the reference of the exec server has it. */
export class AuthorizationFlagError extends Error {
  override readonly name = 'AuthorizationFlagError'
  constructor(
    message: string,
    readonly exitCode: 1 | 2 = 1,
  ) {
    super(message)
  }
}

const TOKEN_FLAGS: readonly Flag[] = ['ws-token-file', 'ws-token-sha256']
const SIGNED_FLAGS: readonly Flag[] = ['ws-shared-secret-file', 'ws-issuer', 'ws-audience', 'ws-max-clock-skew-seconds']
const DEFAULT_CLOCK_SKEW_SECONDS = 30

/**
 * Who may connect, as the flags say it; undefined without `--ws-auth`.
 * @throws AuthorizationFlagError
 */
export function authorizationOf(
  values: AuthorizationValues,
  { leastSecretBytes = 1 }: { leastSecretBytes?: number } = {},
): Authorize | undefined {
  const kind = values['ws-auth']
  const given = (names: readonly Flag[]) => names.find((name) => values[name] !== undefined)
  const stray =
    kind === 'capability-token' ? given(SIGNED_FLAGS) : kind === 'signed-bearer-token' ? given(TOKEN_FLAGS) : undefined
  if (stray !== undefined) throw new AuthorizationFlagError(`--${stray} does not go with --ws-auth ${kind}`)
  switch (kind) {
    case undefined: {
      const lonely = given([...TOKEN_FLAGS, ...SIGNED_FLAGS])
      if (lonely !== undefined) throw new AuthorizationFlagError(`--${lonely} needs --ws-auth`)
      return undefined
    }
    case 'capability-token':
      return tokenAuthorization(values)
    case 'signed-bearer-token':
      return signedToken({
        secret: sharedSecret(values['ws-shared-secret-file'], leastSecretBytes),
        issuer: values['ws-issuer'],
        audience: values['ws-audience'],
        maxClockSkewSeconds: clockSkew(values['ws-max-clock-skew-seconds']),
        now: Date.now,
      })
    default:
      throw new AuthorizationFlagError(`--ws-auth: expected capability-token or signed-bearer-token, got "${kind}"`, 2)
  }
}

function tokenAuthorization(values: AuthorizationValues): Authorize {
  const { 'ws-token-file': file, 'ws-token-sha256': hex } = values
  if (file !== undefined && hex === undefined) return capabilityTokenOf(readSecret('ws-token-file', file))
  if (file !== undefined || hex === undefined)
    throw new AuthorizationFlagError('--ws-auth capability-token needs one of --ws-token-file and --ws-token-sha256')
  if (!/^[0-9a-f]{64}$/i.test(hex))
    throw new AuthorizationFlagError('--ws-token-sha256: expected 64 hexadecimal digits')
  return capabilityToken(Buffer.from(hex, 'hex'))
}

function sharedSecret(path: string | undefined, leastBytes: number): Buffer {
  if (path === undefined)
    throw new AuthorizationFlagError('--ws-auth signed-bearer-token needs --ws-shared-secret-file')
  const secret = Buffer.from(readSecret('ws-shared-secret-file', path))
  if (secret.length < leastBytes)
    throw new AuthorizationFlagError(`--ws-shared-secret-file: the secret has fewer than ${leastBytes} bytes`)
  return secret
}

/** Surrounding whitespace does not count: editors end a file with a line end. */
function readSecret(flag: Flag, path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new AuthorizationFlagError(`--${flag}: ${(error as Error).message}`)
  }
  if (text === '') throw new AuthorizationFlagError(`--${flag}: ${path} is empty`)
  return text
}

function clockSkew(text: string | undefined): number {
  if (text === undefined) return DEFAULT_CLOCK_SKEW_SECONDS
  if (!/^\d{1,15}$/.test(text))
    throw new AuthorizationFlagError(`--ws-max-clock-skew-seconds: "${text}" is not a number`, 2)
  return Number(text)
}
