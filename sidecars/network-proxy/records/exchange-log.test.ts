import { describe, expect, it } from 'vitest'
import { Fields } from '../http/fields.ts'
import { ExchangeLog, isCredentialName } from './exchange-log.ts'

describe('fields that are masked', () => {
  it.each([
    'Authorization',
    'Proxy-Authorization',
    'Cookie',
    'Set-Cookie',
    'X-Api-Key',
    'x-apikey',
    'X-Auth-Token',
    'X-Amz-Security-Token',
    'X-CSRF-Token',
    'X-Client-Secret',
    'X-Goog-Api-Key',
    'Authentication-Info',
    'X-Session-Id',
    'DPoP-Nonce',
    'X-Hub-Signature-256',
    'X-Password',
  ])('%s', (name) => expect(isCredentialName(name)).toBe(true))

  it.each(['Accept', 'Content-Type', 'User-Agent', 'X-Request-Id', 'Author', 'ETag', 'Cache-Control'])(
    'but not %s',
    (name) => expect(isCredentialName(name)).toBe(false),
  )
})

describe('what is kept', () => {
  const seen = (path: string) => ({ atMs: 1, method: 'GET', path, request: new Fields(), injected: [] })

  it('is the last ten requests, without queries', () => {
    const log = new ExchangeLog()
    for (let n = 0; n < 12; n++) log.add(seen(`/${n}?token=x`))
    expect(log.shown().map(({ path }) => path)).toEqual(
      ['2', '3', '4', '5', '6', '7', '8', '9', '10', '11'].map((n) => `/${n}?…`),
    )
  })

  it('has bounded values and no queries of other addresses', () => {
    const request = new Fields()
    request.add('X-Long', 'a'.repeat(1000))
    request.add('Referer', 'https://a.test/b?token=x')
    const log = new ExchangeLog()
    log.add({ ...seen('/'), request })
    expect(log.shown()[0]?.requestHeaders).toEqual([
      ['X-Long', `${'a'.repeat(256)}…`],
      ['Referer', 'https://a.test/b?…'],
    ])
  })
})
