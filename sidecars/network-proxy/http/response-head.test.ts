import { describe, expect, it } from 'vitest'
import { MalformedHttp } from './fields.ts'
import { responseHeadText } from './forwarded-head.ts'
import { parseResponseHead } from './response-head.ts'

const lines = (...parts: string[]): string => parts.join('\r\n')

describe('parseResponseHead', () => {
  it.each([
    ['GET', 200, ['Content-Length: 5'], { kind: 'length', bytes: 5 }, true],
    ['GET', 200, ['Content-Length: 0'], { kind: 'none' }, true],
    ['GET', 200, ['Transfer-Encoding: chunked'], { kind: 'chunked' }, true],
    ['GET', 200, [], { kind: 'close' }, false],
    ['GET', 200, ['Connection: close', 'Content-Length: 5'], { kind: 'length', bytes: 5 }, false],
    ['HEAD', 200, ['Content-Length: 5'], { kind: 'none' }, true],
    ['HEAD', 200, ['Transfer-Encoding: chunked'], { kind: 'none' }, true],
    ['GET', 204, [], { kind: 'none' }, true],
    ['GET', 304, ['Content-Length: 5'], { kind: 'none' }, true],
    ['GET', 100, [], { kind: 'none' }, true],
  ])('a %s answered with %i and %j', (method, status, fields, framing, keepAlive) => {
    const head = parseResponseHead(lines(`HTTP/1.1 ${status} X`, ...fields), method)
    expect(head).toMatchObject({ status, framing, keepAlive })
  })

  it('HTTP/1.0 ends with its connection unless it says otherwise', () => {
    expect(parseResponseHead(lines('HTTP/1.0 200 OK', 'Content-Length: 1'), 'GET').keepAlive).toBe(false)
    expect(
      parseResponseHead(lines('HTTP/1.0 200 OK', 'Content-Length: 1', 'Connection: keep-alive'), 'GET').keepAlive,
    ).toBe(true)
  })

  it.each([
    lines('HTTP/1.1 200 OK', 'Content-Length: 5', 'Transfer-Encoding: chunked'),
    lines('HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 6'),
    lines('HTTP/1.1 200 OK', 'Transfer-Encoding: gzip'),
    lines('HTTP/1.1 200 OK', 'X : y'),
    'HTTP/1.1 99 OK',
    'HTTP/2 200',
    'ICY 200 OK',
    '',
  ])('refuses %j', (head) => {
    expect(() => parseResponseHead(head, 'GET')).toThrow(MalformedHttp)
  })
})

it('hop-by-hop fields and those that Connection lists stay behind, the rest keeps its case and order', () => {
  const head = parseResponseHead(
    lines(
      'HTTP/1.1 200 OK',
      'X-A: 1',
      'Connection: X-Hop, content-length, keep-alive',
      'X-Hop: gone',
      'Keep-Alive: timeout=5',
      'Proxy-Authenticate: Basic',
      'Trailer: X',
      'x-a: 2',
      'Content-Length: 3',
    ),
    'GET',
  )
  expect(responseHeadText(head, { minorVersion: 1, keepAlive: true, chunked: false })).toBe(
    'HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 3\r\n\r\n',
  )
})
