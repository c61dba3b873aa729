import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { authorizationOf } from './authorization-flags.ts'

const SECRET = 's'.repeat(32)
let folder: string
let secretFile: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-flags-'))
  secretFile = join(folder, 'secret')
  writeFileSync(secretFile, `${SECRET}\n`)
})
afterAll(() => rmSync(folder, { recursive: true }))

const signed = (skew?: string, options = {}) =>
  authorizationOf(
    { 'ws-auth': 'signed-bearer-token', 'ws-shared-secret-file': secretFile, 'ws-max-clock-skew-seconds': skew },
    options,
  )
function tokenThatExpires(inSeconds: number): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = `${part({ alg: 'HS256' })}.${part({ exp: Math.floor(Date.now() / 1000) + inSeconds })}`
  return `Bearer ${head}.${createHmac('sha256', SECRET).update(head).digest('base64url')}`
}

it('without --ws-auth nobody is asked for anything', () => expect(authorizationOf({})).toBeUndefined())

it('the skew counts in seconds, 30 when none is given', () => {
  expect(signed()?.(tokenThatExpires(-20))).toBeUndefined()
  expect(signed()?.(tokenThatExpires(-40))).toBe('expired websocket jwt')
  expect(signed('600')?.(tokenThatExpires(-40))).toBeUndefined()
})

it.each(['abc', '', '-1', '1e3', 'Infinity'])(
  'a skew of "%s" is refused: it would let every token in, or none',
  (skew) => expect(() => signed(skew)).toThrow(`--ws-max-clock-skew-seconds: "${skew}" is not a number`),
)

it('a secret that is shorter than the program allows is refused', () => {
  expect(() => signed(undefined, { leastSecretBytes: 33 })).toThrow('the secret has fewer than 33 bytes')
  expect(signed(undefined, { leastSecretBytes: 32 })).toBeDefined()
})
