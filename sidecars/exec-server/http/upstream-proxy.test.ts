import { describe, expect, it } from 'vitest'
import { basicAuthorization, proxyAuthorization, proxyFor } from './upstream-proxy.ts'

const PROXY = 'http://proxy.test:3128/'
const env = (more: Record<string, string>) => ({ HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, ...more })

describe('NO_PROXY', () => {
  it.each([
    ['', 'http://any.test/', PROXY],
    ['*', 'http://any.test/', null],
    ['skip.test', 'http://skip.test/', null],
    ['skip.test', 'http://sub.skip.test/', null],
    ['skip.test', 'http://otherskip.test/', PROXY],
    ['.dot.test', 'http://x.dot.test/', null],
    ['.dot.test', 'http://dot.test/', null],
    ['*.star.test', 'http://x.star.test/', null],
    ['SKIP.test', 'http://skip.TEST/', null],
    ['a.test, b.test', 'http://b.test/', null],
    ['port.test:81', 'http://port.test:81/', null],
    ['port.test:81', 'http://port.test/', PROXY],
    ['127.0.0.1', 'http://127.0.0.1:9/', null],
    ['127.0.0.2', 'http://127.0.0.1:9/', PROXY],
    ['10.0.0.0/8', 'http://10.1.2.3/', null],
    ['10.0.0.0/8', 'http://11.1.2.3/', PROXY],
    ['10.0.0.0/99', 'http://10.1.2.3/', PROXY],
    ['::1', 'http://[::1]:9/', null],
    ['fd00::/8', 'http://[fd12::1]/', null],
    ['10.0.0.0/8', 'http://[fd12::1]/', PROXY],
    ['1', 'http://127.0.0.1/', PROXY],
  ])('"%s" for %s: %s', (list, url, proxy) => {
    expect(proxyFor(new URL(url), env({ NO_PROXY: list }))?.href ?? null).toBe(proxy)
  })
})

it.each([
  [{ http_proxy: 'http://low:1', HTTP_PROXY: 'http://up:1' }, 'http://x/', 'http://low:1/'],
  [{ HTTPS_PROXY: 'http://s:1' }, 'https://x/', 'http://s:1/'],
  [{ HTTPS_PROXY: 'http://s:1' }, 'http://x/', null],
  [{ ALL_PROXY: 'http://all:1' }, 'https://x/', 'http://all:1/'],
  [{ http_proxy: '', HTTP_PROXY: ' ' }, 'http://x/', null],
  [{ HTTP_PROXY: 'bare.test:8080' }, 'http://x/', 'http://bare.test:8080/'],
  [{ HTTP_PROXY: 'http://[' }, 'http://x/', null],
  [{}, 'http://x/', null],
])('%j sends %s by way of %s', (environment, url, proxy) => {
  expect(proxyFor(new URL(url), environment)?.href ?? null).toBe(proxy)
})

it('users and passwords are decoded before they are encoded', () => {
  expect(proxyAuthorization(new URL('http://u:p%40@h'))).toBe(`Basic ${Buffer.from('u:p@').toString('base64')}`)
  expect(proxyAuthorization(new URL('http://h'))).toBeNull()
  expect(basicAuthorization(new URL('http://u:100%25@h'))).toBe(`Basic ${Buffer.from('u:100%').toString('base64')}`)
})
