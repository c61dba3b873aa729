import { describe, expect, it } from 'vitest'
import { clampToLoopback, parseListenAddress } from './listen-address.ts'

describe('parseListenAddress', () => {
  it.each([
    ['http://127.0.0.1:3128', '127.0.0.1', 3128],
    ['  http://127.0.0.1:9000  ', '127.0.0.1', 9000],
    ['127.0.0.1:9000', '127.0.0.1', 9000],
    ['127.0.0.1', '127.0.0.1', 3128],
    ['http://127.0.0.1', '127.0.0.1', 3128],
    ['http://127.0.0.1:80', '127.0.0.1', 80],
    ['http://user:pw@127.0.0.1:9000/path?query', '127.0.0.1', 9000],
    ['localhost', '127.0.0.1', 3128],
    ['localhost:0', '127.0.0.1', 0],
    ['proxy.example:9000', '127.0.0.1', 9000],
    ['::1', '::1', 3128],
    ['[::1]', '::1', 3128],
    ['[::1]:9000', '::1', 9000],
    ['http://[::1]:9000', '::1', 9000],
    ['http://[0::0]:3128', '::', 3128],
    ['0.0.0.0:9000', '0.0.0.0', 9000],
    ['127.0.0.1:port', '127.0.0.1', 3128],
    ['http://127.0.0.1:99999', '127.0.0.1', 3128],
    ['socks5://127.0.0.1:8081', '127.0.0.1', 8081],
  ])('reads %j as %s port %i', (text, host, port) => {
    expect(parseListenAddress(text, 3128)).toEqual({ host, port })
  })

  it.each(['', '   '])('%j has no host', (text) => {
    expect(() => parseListenAddress(text, 3128)).toThrow('missing host')
  })
})

describe('clampToLoopback', () => {
  const at = (host: string) => ({ host, port: 3128 })
  const safe = { allowNonLoopback: false, reachesUnixSockets: false }

  it.each(['127.0.0.1', '127.0.0.5', '::1'])('%s stays as it is', (host) => {
    expect(clampToLoopback(at(host), 'proxy_url', safe)).toEqual({ at: at(host), warning: undefined })
  })

  it.each(['0.0.0.0', '192.168.1.5', '::'])('%s becomes 127.0.0.1 and the warning names the flag', (host) => {
    const { at: clamped, warning } = clampToLoopback(at(host), 'proxy_url', safe)
    expect(clamped).toEqual(at('127.0.0.1'))
    expect(warning).toContain('dangerously_allow_non_loopback_proxy')
  })

  it('P14 every spelling of the unspecified address is clamped', () => {
    expect(clampToLoopback(parseListenAddress('http://[0::0]:3128', 3128), 'proxy_url', safe).at).toEqual(
      at('127.0.0.1'),
    )
  })

  it('the dangerous flag lets it out, with a warning, unless unix sockets can be reached', () => {
    expect(clampToLoopback(at('0.0.0.0'), 'proxy_url', { ...safe, allowNonLoopback: true }).at).toEqual(at('0.0.0.0'))
    expect(
      clampToLoopback(at('0.0.0.0'), 'proxy_url', { allowNonLoopback: true, reachesUnixSockets: true }).at,
    ).toEqual(at('127.0.0.1'))
  })
})
