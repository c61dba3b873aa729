import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signedToken } from './signed-token.ts'

const SECRET = 'a secret that both sides have'
const NOW_SECONDS = 1_800_000_000

function jwt(claims: object, header: object = { alg: 'HS256', typ: 'JWT' }, secret = SECRET): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const body = `${part(header)}.${part(claims)}`
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`
}
const judge = (token: string, options: { issuer?: string; audience?: string } = {}) =>
  signedToken({
    secret: Buffer.from(SECRET),
    issuer: options.issuer,
    audience: options.audience,
    maxClockSkewSeconds: 30,
    now: () => NOW_SECONDS * 1000,
  })(`Bearer ${token}`)

describe('signed bearer tokens', () => {
  it('lets a good one in, the scheme in any case', () => {
    expect(judge(jwt({ exp: NOW_SECONDS + 60 }))).toBeUndefined()
    const authorize = signedToken({
      secret: Buffer.from(SECRET),
      issuer: undefined,
      audience: undefined,
      maxClockSkewSeconds: 0,
      now: () => NOW_SECONDS * 1000,
    })
    expect(authorize(`bEARER ${jwt({ exp: NOW_SECONDS + 1 })}`)).toBeUndefined()
    expect(authorize(undefined)).toBe('missing websocket bearer token')
    expect(authorize('Basic abc')).toBe('invalid authorization header')
    expect(authorize('Bearer a b')).toBe('invalid authorization header')
  })

  it('allows the clocks to differ by the given skew', () => {
    expect(judge(jwt({ exp: NOW_SECONDS - 29 }))).toBeUndefined()
    expect(judge(jwt({ exp: NOW_SECONDS - 32 }))).toBe('expired websocket jwt')
    expect(judge(jwt({ exp: NOW_SECONDS + 60, nbf: NOW_SECONDS + 29 }))).toBeUndefined()
    expect(judge(jwt({ exp: NOW_SECONDS + 60, nbf: NOW_SECONDS + 32 }))).toBe('websocket jwt is not valid yet')
  })

  it('checks issuer and audience when they are given', () => {
    const claims = { exp: NOW_SECONDS + 60, iss: 'me', aud: ['x', 'gatehouse'] }
    expect(judge(jwt(claims), { issuer: 'me', audience: 'gatehouse' })).toBeUndefined()
    expect(judge(jwt({ ...claims, aud: 'gatehouse' }), { audience: 'gatehouse' })).toBeUndefined()
    expect(judge(jwt(claims), { issuer: 'you' })).toBe('websocket jwt issuer mismatch')
    expect(judge(jwt(claims), { audience: 'other' })).toBe('websocket jwt audience mismatch')
    expect(judge(jwt({ exp: NOW_SECONDS + 60 }), { audience: 'gatehouse' })).toBe('websocket jwt audience mismatch')
  })

  it.each([
    ['another secret', jwt({ exp: NOW_SECONDS + 60 }, { alg: 'HS256' }, 'other')],
    ['no expiry', jwt({})],
    ['an expiry that is no number', jwt({ exp: 'tomorrow' })],
    ['the algorithm "none"', jwt({ exp: NOW_SECONDS + 60 }, { alg: 'none' })],
    [
      'no signature',
      jwt({ exp: NOW_SECONDS + 60 })
        .split('.')
        .slice(0, 2)
        .join('.'),
    ],
    ['four parts', `${jwt({ exp: NOW_SECONDS + 60 })}.x`],
    ['garbage', 'garbage'],
  ])('refuses %s', (_, token) => {
    expect(judge(token)).toBe('invalid websocket jwt')
  })
})
