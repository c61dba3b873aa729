import { describe, expect, it } from 'vitest'
import { MalformedHttp } from './fields.ts'
import { parseRequestHead } from './request-head.ts'
import { connectTarget, requestTarget } from './request-target.ts'

const lines = (...parts: string[]): string => parts.join('\r\n')

describe('parseRequestHead', () => {
  it('keeps order, case and duplicates of fields', () => {
    const head = parseRequestHead(lines('POST /a?b HTTP/1.1', 'Host: a.test', 'X-A: 1', 'x-a:2 ', 'Content-Length: 5'))
    expect(head).toMatchObject({
      method: 'POST',
      target: '/a?b',
      minorVersion: 1,
      framing: { kind: 'length', bytes: 5 },
    })
    expect(head.fields.names).toEqual(['Host', 'X-A', 'x-a', 'Content-Length'])
    expect(head.fields.values).toEqual(['a.test', '1', '2', '5'])
  })

  it.each([
    ['GET / HTTP/1.1', [], true],
    ['GET / HTTP/1.1', ['Connection: close'], false],
    ['GET / HTTP/1.1', ['Connection: Keep-Alive, Close'], false],
    ['GET / HTTP/1.0', [], false],
    ['GET / HTTP/1.0', ['Connection: keep-alive'], true],
    ['GET / HTTP/1.0', ['Proxy-Connection: keep-alive'], true],
    ['GET / HTTP/1.1', ['Proxy-Connection: close'], false],
  ])('%s with %j keeps the connection: %s', (line, fields, expected) => {
    expect(parseRequestHead(lines(line, 'Host: a.test', ...fields)).keepAlive).toBe(expected)
  })

  it('reads a head after one that it refused', () => {
    const broken = () => parseRequestHead(lines('GET / HTTP/1.1', `Host: ${'a'.repeat(100)}\n`))
    for (let n = 0; n < 2; n++) {
      expect(broken).toThrow(MalformedHttp)
      expect(parseRequestHead('GET / HTTP/1.1').method).toBe('GET')
      expect(() => parseRequestHead('GET /\x01 HTTP/1.1')).toThrow(MalformedHttp)
    }
  })

  it.each([
    '',
    ' ',
    'GET',
    'GET /',
    'GET  HTTP/1.1',
    'GET HTTP/1.1',
    ' / HTTP/1.1',
    'GET / / HTTP/1.1',
    'GET / http/1.1',
    'GET / HTTP/1.2',
    'GET / HTTP/1.10',
    'GET / HTTP/1.1 ',
    'GET / HTTP/11',
    'GET\t/ HTTP/1.1',
    'GET /\t HTTP/1.1',
  ])('the request line %j is refused', (line) => {
    expect(() => parseRequestHead(lines(line, 'Host: a'))).toThrow(MalformedHttp)
  })

  it('knows a WebSocket upgrade from other upgrades', () => {
    const upgrade = (value: string) =>
      parseRequestHead(lines('GET / HTTP/1.1', 'Host: a', 'Connection: keep-alive, Upgrade', `Upgrade: ${value}`))
    expect(upgrade('websocket').isWebSocketUpgrade).toBe(true)
    expect(upgrade('WebSocket').isWebSocketUpgrade).toBe(true)
    expect(upgrade('h2c').isWebSocketUpgrade).toBe(false)
  })

  it.each([
    ['a space before the colon', 'Host : a.test'],
    ['a space before the name', ' Host: a.test'],
    ['a continuation line', lines('X: a', ' b')],
    ['a continuation line with a tab', lines('X: a', '\tb')],
    ['an empty name', ': a'],
    ['a line without a colon', 'Host'],
    ['a name that is no token', 'Ho(st: a'],
    ['a NUL in a value', 'X: a\0b'],
    ['a bare line feed', 'X: a\nY: b'],
    ['a bare carriage return', 'X: a\rY: b'],
    ['a control character', 'X: a\x01'],
    ['two Content-Lengths that agree', lines('Content-Length: 5', 'Content-Length: 5')],
    ['two Content-Lengths that do not', lines('Content-Length: 5', 'Content-Length: 6')],
    ['a list as Content-Length', 'Content-Length: 5, 5'],
    ['a sign in Content-Length', 'Content-Length: +5'],
    ['a negative Content-Length', 'Content-Length: -1'],
    ['a hexadecimal Content-Length', 'Content-Length: 0x5'],
    ['an empty Content-Length', 'Content-Length:'],
    ['a Content-Length beyond 2^53', 'Content-Length: 99999999999999999999'],
    ['Content-Length and Transfer-Encoding', lines('Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['an unknown coding', 'Transfer-Encoding: gzip'],
    ['a list of codings', 'Transfer-Encoding: gzip, chunked'],
    ['chunked twice', lines('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    ['chunked with a parameter', 'Transfer-Encoding: chunked;q=1'],
    ['identity', 'Transfer-Encoding: identity'],
    ['a vertical tab before chunked', 'Transfer-Encoding:\x0bchunked'],
  ])('refuses %s', (_shape, fields) => {
    expect(() => parseRequestHead(lines('POST / HTTP/1.1', 'Host: a.test', fields))).toThrow(MalformedHttp)
  })

  it.each([
    'GET  / HTTP/1.1',
    'GET /  HTTP/1.1',
    'GET /a b HTTP/1.1',
    'GET / HTTP/1.2',
    'GET / HTTP/2.0',
    'GET / http/1.1',
    'GET /',
    'GET\t/ HTTP/1.1',
    'G(T / HTTP/1.1',
    'GET /\u00e9 HTTP/1.1',
    ' GET / HTTP/1.1',
    'GET / HTTP/1.1 ',
    '',
  ])('refuses the request line %j', (line) => {
    expect(() => parseRequestHead(lines(line, 'Host: a.test'))).toThrow(MalformedHttp)
  })

  it('chunked belongs to HTTP/1.1', () => {
    expect(() => parseRequestHead(lines('POST / HTTP/1.0', 'Transfer-Encoding: chunked'))).toThrow(MalformedHttp)
  })

  it('a bound on the number of fields', () => {
    const many = Array.from({ length: 257 }, (_, n) => `X-${n}: 1`)
    expect(() => parseRequestHead(lines('GET / HTTP/1.1', ...many))).toThrow('more than 256')
  })
})

describe('requestTarget', () => {
  const target = (line: string, ...fields: string[]) => requestTarget(parseRequestHead(lines(line, ...fields)))

  it.each([
    ['GET http://a.test/x?y HTTP/1.1', 'Host: a.test', { host: 'a.test', port: 80, tls: false, path: '/x?y' }],
    ['GET http://A.test.:8080 HTTP/1.1', 'Host: a.test:8080', { host: 'a.test', port: 8080, tls: false, path: '/' }],
    ['GET http://a.test?q HTTP/1.1', 'Host: a.test:80', { host: 'a.test', port: 80, tls: false, path: '/?q' }],
    ['GET http://user:pw@a.test/ HTTP/1.1', 'Host: a.test', { host: 'a.test', port: 80, tls: false, path: '/' }],
    ['GET https://a.test/ HTTP/1.1', 'Host: a.test', { host: 'a.test', port: 443, tls: true, path: '/' }],
    ['GET ws://a.test/ HTTP/1.1', 'Host: a.test', { host: 'a.test', port: 80, tls: false, path: '/' }],
    ['OPTIONS http://a.test HTTP/1.1', 'Host: a.test', { host: 'a.test', port: 80, tls: false, path: '*' }],
    ['OPTIONS * HTTP/1.1', 'Host: a.test', { host: 'a.test', port: 80, tls: false, path: '*' }],
    ['GET /x HTTP/1.1', 'Host: a.test:81', { host: 'a.test', port: 81, tls: false, path: '/x' }],
    ['GET http://[::1]:81/ HTTP/1.1', 'Host: [::1]:81', { host: '::1', port: 81, tls: false, path: '/' }],
    ['GET http://127.1/ HTTP/1.1', 'Host: 127.0.0.1', { host: '127.0.0.1', port: 80, tls: false, path: '/' }],
  ])('%s with %s', (line, field, expected) => {
    expect(target(line, field)).toEqual(expected)
  })

  it('an HTTP/1.0 request needs no Host', () => {
    expect(target('GET http://a.test/ HTTP/1.0')).toMatchObject({ host: 'a.test' })
  })

  it.each([
    ['P05 a Host of another name', 'GET http://a.test/ HTTP/1.1', ['Host: b.test'], 'does not match'],
    [
      'P05 a Host without the port of the target',
      'GET http://a.test:18080/ HTTP/1.1',
      ['Host: a.test'],
      'does not match',
    ],
    ['a Host with another port', 'GET http://a.test/ HTTP/1.1', ['Host: a.test:81'], 'does not match'],
    ['P05 two Hosts', 'GET http://a.test/ HTTP/1.1', ['Host: a.test', 'Host: a.test'], 'multiple Host'],
    ['no Host', 'GET http://a.test/ HTTP/1.1', [], 'missing host'],
    ['an empty Host', 'GET / HTTP/1.1', ['Host:'], 'missing host'],
    ['a Host with user-info', 'GET / HTTP/1.1', ['Host: a@b.test'], 'no usable host'],
    ['a Host list', 'GET / HTTP/1.1', ['Host: a.test, b.test'], 'no usable host'],
    ['another scheme', 'GET ftp://a.test/ HTTP/1.1', ['Host: a.test'], 'scheme ftp'],
    ['a fragment', 'GET http://a.test/#x HTTP/1.1', ['Host: a.test'], 'neither'],
    ['no authority', 'GET http:///x HTTP/1.1', ['Host: a.test'], 'missing host'],
    ['port 0', 'GET http://a.test:0/ HTTP/1.1', ['Host: a.test'], 'no usable host'],
    ['a port beyond 65535', 'GET http://a.test:65536/ HTTP/1.1', ['Host: a.test'], 'no usable host'],
    ['a backslash', 'GET http://a.test\\@b.test/ HTTP/1.1', ['Host: b.test'], 'neither'],
    ['two @ signs', 'GET http://a@a.test@b.test/ HTTP/1.1', ['Host: b.test'], 'neither'],
    ['an escaped host', 'GET http://a%2etest/ HTTP/1.1', ['Host: a.test'], 'no usable host'],
  ])('refuses %s', (_shape, line, fields, problem) => {
    expect(() => target(line, ...fields)).toThrow(problem)
  })
})

describe('connectTarget', () => {
  const target = (authority: string, ...fields: string[]) =>
    connectTarget(parseRequestHead(lines(`CONNECT ${authority} HTTP/1.1`, ...fields)), {
      localAddress: '127.0.0.1',
      localPort: 3128,
    })

  it.each([
    ['a.test:443', 'Host: a.test:443', { host: 'a.test', port: 443 }],
    ['a.test:443', 'Host: a.test', { host: 'a.test', port: 443 }],
    ['A.TEST.:443', 'Host: a.test:443', { host: 'a.test', port: 443 }],
    ['[2001:DB8::1]:443', 'Host: [2001:db8::1]:443', { host: '2001:db8::1', port: 443 }],
    ['2130706433:443', 'Host: 127.0.0.1', { host: '127.0.0.1', port: 443 }],
    // Clients that name the proxy they are connected to.
    ['a.test:443', 'Host: 127.0.0.1:3128', { host: 'a.test', port: 443 }],
    ['a.test:443', 'Host: localhost:3128', { host: 'a.test', port: 443 }],
    ['a.test:443', 'Host: [::1]:3128', { host: 'a.test', port: 443 }],
  ])('%s with %s', (authority, field, expected) => {
    expect(target(authority, field)).toEqual(expected)
  })

  it.each([
    ['a.test', 'Host: a.test', 'no port'],
    [':443', 'Host: a.test', 'missing host'],
    ['EXACT.example..:443', 'Host: x', 'no usable host'],
    ['http://a.test:443', 'Host: a.test', 'no usable host'],
    ['a.test:443/', 'Host: a.test', 'no usable host'],
    ['user@a.test:443', 'Host: a.test', 'no usable host'],
    ['2001:db8::1:443', 'Host: x', 'no usable host'],
    ['a.test:443', 'Host: b.test:443', 'does not match'],
    ['a.test:443', 'Host: a.test:80', 'does not match'],
    ['a.test:443', 'Host: 127.0.0.1:3129', 'does not match'],
    ['a.test:443', 'Host: 127.0.0.1', 'does not match'],
    ['a.test:443', 'Host: b.test:3128', 'does not match'],
    ['a.test:443', 'Host: 10.0.0.1:3128', 'does not match'],
  ])('refuses %s with %s', (authority, field, problem) => {
    expect(() => target(authority, field)).toThrow(problem)
  })
})
