/** Secrets in request bodies: placeholders are exchanged while the body is in the proxy's memory. */
import type { Fields } from '../http/fields.ts'
import { BodyRefused } from '../http/body-refused.ts'

export interface Replacement {
  placeholder: string
  secret: string
}

export interface BodySubstitution {
  replacements: readonly Replacement[]
  /** The only port on which secrets go out. */
  port: number
  /** Larger bodies are refused. */
  maxBodyBytes: number
}

/** They are about the bytes that the client sent, which are others now. */
const DIGESTS = ['content-md5', 'digest', 'content-digest', 'repr-digest']

/**
 * The body with every placeholder exchanged, each secret written as the content type needs it. Fields that
 * would no longer be true are removed. @throws BodyRefused for a body that cannot be looked into
 */
export function substituteInBody(body: Buffer, fields: Fields, replacements: readonly Replacement[]): Buffer {
  const coding = fields.get('content-encoding')?.toLowerCase()
  if (body.length > 0 && coding !== undefined && coding !== 'identity')
    throw new BodyRefused(415, `a hook has to look into the body, and it is compressed (${coding})`)
  const parts: Buffer[] = []
  const encode = encoderFor(fields.get('content-type'))
  let at = 0
  for (let next = nextOf(body, at, replacements); next; next = nextOf(body, at, replacements)) {
    parts.push(body.subarray(at, next.start), Buffer.from(encode(next.replacement.secret)))
    at = next.start + next.replacement.placeholder.length
  }
  if (parts.length === 0) return body
  for (const key of DIGESTS) fields.remove(key)
  return Buffer.concat([...parts, body.subarray(at)])
}

function nextOf(
  body: Buffer,
  from: number,
  replacements: readonly Replacement[],
): { start: number; replacement: Replacement } | undefined {
  let found: { start: number; replacement: Replacement } | undefined
  for (const replacement of replacements) {
    const start = body.indexOf(replacement.placeholder, from, 'latin1')
    if (start >= 0 && (!found || start < found.start)) found = { start, replacement }
  }
  return found
}

function encoderFor(contentType = ''): (secret: string) => string {
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) return (secret) => encodeURIComponent(secret)
  if (/^application\/(?:[\w.+-]+\+)?json\b|^application\/x-amz-json/i.test(contentType))
    return (secret) => JSON.stringify(secret).slice(1, -1)
  return (secret) => secret
}
