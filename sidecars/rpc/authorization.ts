import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Judges the Authorization header of an upgrade. Undefined = welcome; otherwise the text of the 401.
 */
export type Authorize = (header: string | undefined) => string | undefined

/** For listeners that were started without any `--ws-auth`. */
export const anybody: Authorize = () => undefined

/**
 * The token of `Authorization: Bearer TOKEN`.
 * @throws string the text of the 401
 */
export function bearerToken(header: string | undefined): { token: string } | { problem: string } {
  if (header === undefined) return { problem: 'missing websocket bearer token' }
  const match = /^bearer +(\S+) *$/i.exec(header)
  return match ? { token: match[1] as string } : { problem: 'invalid authorization header' }
}

/** Lets in whoever has the token with this SHA-256 (32 bytes). Compared in constant time. */
export function capabilityToken(sha256: Buffer): Authorize {
  return (header) => {
    const bearer = bearerToken(header)
    if ('problem' in bearer) return bearer.problem
    const actual = createHash('sha256').update(bearer.token).digest()
    return timingSafeEqual(actual, sha256) ? undefined : 'invalid websocket bearer token'
  }
}

export function capabilityTokenOf(token: string): Authorize {
  return capabilityToken(createHash('sha256').update(token).digest())
}
