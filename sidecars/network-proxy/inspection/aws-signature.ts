/** Signature Version 4 of AWS: reading what a client signed with a placeholder, and signing it anew. */
import { createHash, createHmac } from 'node:crypto'
import { isHopByHop, MalformedHttp, type Fields } from '../http/fields.ts'

export interface AwsCredentials {
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string | undefined
}

/** A request as it will go out. */
export interface SignableRequest {
  method: string
  /** With the query. */
  path: string
  /** Value of the Host field. */
  host: string
  fields: Fields
}

/** What a client's own signature says. */
export interface AwsClaim {
  /** In the Authorization field, or in the query of a presigned URL. */
  place: 'field' | 'query'
  accessKeyId: string
  /** `20261201T010203Z`. */
  time: string
  day: string
  region: string
  service: string
  /** Lower case, sorted. */
  signedNames: readonly string[]
}

const ALGORITHM = 'AWS4-HMAC-SHA256'
const UNSIGNED = 'UNSIGNED-PAYLOAD'
const CONTENT_HASH = 'x-amz-content-sha256'
const TOKEN = 'x-amz-security-token'
const HEX_HASH = /^[0-9a-f]{64}$/

/** The signature that a request brings; undefined when it brings none. @throws MalformedHttp for half a one */
export function readAwsClaim({ path, fields }: SignableRequest): AwsClaim | undefined {
  const authorization = fields.get('authorization')
  if (authorization?.startsWith(`${ALGORITHM} `)) {
    const part = (name: string) => new RegExp(`[ ,]${name}=([^, ]+)`).exec(authorization)?.[1]
    return claimOf('field', part('Credential'), part('SignedHeaders'), fields.get('x-amz-date'))
  }
  const query = new URLSearchParams(queryOf(path))
  if (query.get('X-Amz-Algorithm') !== ALGORITHM) return undefined
  const get = (name: string) => query.get(name) ?? undefined
  return claimOf('query', get('X-Amz-Credential'), get('X-Amz-SignedHeaders'), get('X-Amz-Date'))
}

function claimOf(
  place: AwsClaim['place'],
  credential: string | undefined,
  signed: string | undefined,
  time: string | undefined,
): AwsClaim {
  const [accessKeyId, day, region, service, end, more] = credential?.split('/') ?? []
  if (!accessKeyId || !day || !region || !service || end !== 'aws4_request' || more !== undefined)
    throw new MalformedHttp('an AWS signature whose credential scope cannot be read')
  if (!time || !/^\d{8}T\d{6}Z$/.test(time) || !time.startsWith(day))
    throw new MalformedHttp('an AWS signature without the X-Amz-Date that belongs to its scope')
  const signedNames = (signed ?? '').split(';').filter((name) => name !== '')
  if (!signedNames.includes('host')) throw new MalformedHttp('an AWS signature that does not cover host')
  return { place, accessKeyId, time, day, region, service, signedNames }
}

/**
 * True when the body has to be known to sign: for its hash, or because its chunks are signed. Otherwise the request
 * itself says what stands for it.
 */
export function needsBodyToSign({ place, service }: AwsClaim, fields: Fields): boolean {
  return signsChunks(fields) || (fields.get(CONTENT_HASH) === undefined && !(place === 'query' && isS3(service)))
}

/** A body whose chunks are signed one by one, each over the signature before it. */
export function signsChunks(fields: Fields): boolean {
  return fields.get(CONTENT_HASH)?.startsWith(`STREAMING-${ALGORITHM}-PAYLOAD`) ?? false
}

/** A request's new signature. */
export interface Signed {
  /** To use in place of the request's. */
  path: string
  /** The chunks of a body that is signed chunk by chunk go on from it. */
  signature: string
}

/**
 * Signs the request with `credentials` in place of what signed it, within the same scope and time. Fields
 * are changed in place. `body` is given when it is known.
 */
export function signAgain(
  request: SignableRequest,
  claim: AwsClaim,
  credentials: AwsCredentials,
  body: Buffer | undefined,
): Signed {
  const { fields } = request
  const payload = payloadHash(claim, fields, body)
  const scope = scopeOf(claim)
  const query = queryPairs(request.path).filter(([name]) => name !== 'X-Amz-Signature' && name !== TOKEN_PARAMETER)
  const names = new Set(claim.signedNames.filter((name) => name !== TOKEN && !isHopByHop(name, [])))
  fields.remove(TOKEN)
  if (claim.place === 'query') {
    replacePair(query, 'X-Amz-Credential', `${credentials.accessKeyId}/${scope}`)
    replacePair(query, 'X-Amz-SignedHeaders', [...names].sort().join(';'))
    if (credentials.sessionToken !== undefined) query.push([TOKEN_PARAMETER, credentials.sessionToken])
  } else if (credentials.sessionToken !== undefined) {
    fields.set('X-Amz-Security-Token', credentials.sessionToken)
    names.add(TOKEN)
  }
  const signed = [...names].sort()
  const canonical = [
    request.method,
    canonicalPath(request.path, claim.service),
    canonicalQuery(query),
    ...signed.map((name) => `${name}:${fieldValue(request, name)}`),
    '',
    signed.join(';'),
    payload,
  ].join('\n')
  const signature = hmac(
    signingKey(credentials.secretAccessKey, claim),
    [ALGORITHM, claim.time, scope, sha256(canonical)].join('\n'),
  ).toString('hex')
  if (claim.place === 'query')
    return { path: `${pathOf(request.path)}?${canonicalQuery(query)}&X-Amz-Signature=${signature}`, signature }
  fields.set(
    'Authorization',
    `${ALGORITHM} Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${signed.join(';')}, Signature=${signature}`,
  )
  return { path: request.path, signature }
}

export function scopeOf({ day, region, service }: AwsClaim): string {
  return [day, region, service, 'aws4_request'].join('/')
}

const TOKEN_PARAMETER = 'X-Amz-Security-Token'

function payloadHash({ place, service }: AwsClaim, fields: Fields, body: Buffer | undefined): string {
  const said = fields.get(CONTENT_HASH)
  if (said === undefined) return place === 'query' && isS3(service) ? UNSIGNED : sha256(body ?? '')
  if (!HEX_HASH.test(said) || body === undefined) return said
  const hash = sha256(body)
  if (hash !== said) fields.set('X-Amz-Content-Sha256', hash)
  return hash
}

function isS3(service: string): boolean {
  return service === 's3' || service.startsWith('s3-') || service === 's3express'
}

/** S3 signs the path as it is, every other service its segments encoded once more. */
function canonicalPath(path: string, service: string): string {
  const segments = pathOf(path)
    .split('/')
    .map((segment) => awsEncode(decodePart(segment)))
  return (isS3(service) ? segments : segments.map(awsEncode)).join('/')
}

function canonicalQuery(pairs: readonly (readonly [string, string])[]): string {
  return pairs
    .map(([name, value]) => [awsEncode(name), awsEncode(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function queryPairs(path: string): [string, string][] {
  const query = queryOf(path)
  if (query === '') return []
  return query.split('&').map((pair) => {
    const at = pair.indexOf('=')
    return at < 0 ? [decodePart(pair), ''] : [decodePart(pair.slice(0, at)), decodePart(pair.slice(at + 1))]
  })
}

function replacePair(pairs: [string, string][], name: string, value: string): void {
  const pair = pairs.find(([known]) => known === name)
  if (pair) pair[1] = value
}

function fieldValue({ host, fields }: SignableRequest, name: string): string {
  if (name === 'host') return host
  const values = fields.values.filter((_, at) => fields.keys[at] === name)
  return values.map((value) => value.trim().replace(/ +/g, ' ')).join(',')
}

function pathOf(path: string): string {
  const at = path.indexOf('?')
  return at < 0 ? path : path.slice(0, at)
}
function queryOf(path: string): string {
  const at = path.indexOf('?')
  return at < 0 ? '' : path.slice(at + 1)
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new MalformedHttp('a path or query with an escape that is no UTF-8, which cannot be signed')
  }
}

/** Everything but the unreserved characters of RFC 3986. */
function awsEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The key that signs within the scope of a claim. */
export function signingKey(secretAccessKey: string, { day, region, service }: AwsClaim): Buffer {
  let key = hmac(`AWS4${secretAccessKey}`, day)
  for (const part of [region, service, 'aws4_request']) key = hmac(key, part)
  return key
}
export function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}
/** In hexadecimal. */
export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}
