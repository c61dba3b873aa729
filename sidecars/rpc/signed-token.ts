import { createHmac, timingSafeEqual } from 'node:crypto'
import { bearerToken, type Authorize } from './authorization.ts'

export interface SignedTokenOptions {
  secret: Buffer
  /** Checked when set. */
  issuer: string | undefined
  audience: string | undefined
  /** How far the two clocks may be apart. */
  maxClockSkewSeconds: number
  /** Milliseconds since the epoch. */
  now(): number
}

/** Lets in whoever has a JSON Web Token signed with the shared secret (HS256, RFC 7519). */
export function signedToken(options: SignedTokenOptions): Authorize {
  return (header) => {
    const bearer = bearerToken(header)
    return 'problem' in bearer ? bearer.problem : problemWith(bearer.token, options)
  }
}

function problemWith(token: string, { secret, issuer, audience, maxClockSkewSeconds, now }: SignedTokenOptions) {
  const claims = verifiedClaims(token, secret)
  if (!claims || !isTime(claims.exp)) return 'invalid websocket jwt'
  if (claims.nbf !== undefined && !isTime(claims.nbf)) return 'invalid websocket jwt'
  const nowSeconds = now() / 1000
  if (nowSeconds > claims.exp + maxClockSkewSeconds) return 'expired websocket jwt'
  if (isTime(claims.nbf) && nowSeconds < claims.nbf - maxClockSkewSeconds) return 'websocket jwt is not valid yet'
  if (issuer !== undefined && claims.iss !== issuer) return 'websocket jwt issuer mismatch'
  if (audience !== undefined && ![claims.aud].flat().includes(audience)) return 'websocket jwt audience mismatch'
  return undefined
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** The token's claims when its signature is good. Only HS256: the header never chooses the algorithm. */
function verifiedClaims(token: string, secret: Buffer): Record<string, unknown> | undefined {
  const [header, payload, signature, ...rest] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined || rest.length > 0) return undefined
  const expected = createHmac('sha256', secret).update(`${header}.${payload}`).digest()
  const actual = Buffer.from(signature, 'base64url')
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  return jsonObject(header)?.alg === 'HS256' ? jsonObject(payload) : undefined
}

function jsonObject(base64url: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64url, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
