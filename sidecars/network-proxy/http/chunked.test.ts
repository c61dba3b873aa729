import { describe, expect, it } from 'vitest'
import { ChunkedReader, lastChunk } from './chunked.ts'
import { Fields, MalformedHttp } from './fields.ts'

/** Feeds `text` in pieces; gives the data, what was left over and the trailers. */
function read(text: string, pieceBytes = text.length): { data: string; rest: string; trailers: string[] | undefined } {
  const reader = new ChunkedReader()
  let data = ''
  let rest = ''
  for (let at = 0; at < text.length; at += pieceBytes) {
    const piece = Buffer.from(text.slice(at, at + pieceBytes), 'latin1')
    const end = reader.read(piece, 0, (from, to) => (data += piece.toString('latin1', from, to)))
    rest += piece.toString('latin1', end)
  }
  return { data, rest, trailers: reader.trailers?.names }
}

describe('ChunkedReader', () => {
  const body = '5\r\nhello\r\n6;ext="x"\r\n world\r\n0\r\nX-Sum: 1\r\nX-Two: 2\r\n\r\n'

  it.each([1, 2, 3, 7, 1000])('reads a body in pieces of %i bytes', (pieceBytes) => {
    expect(read(`${body}GET`, pieceBytes)).toEqual({ data: 'hello world', rest: 'GET', trailers: ['X-Sum', 'X-Two'] })
  })

  it('reads a body without trailers', () => {
    expect(read('0\r\n\r\nrest')).toEqual({ data: '', rest: 'rest', trailers: [] })
  })

  it.each([
    ['a bare line feed after the size', '5\nhello\r\n0\r\n\r\n'],
    ['a bare line feed after the data', '5\r\nhello\n0\r\n\r\n'],
    ['data longer than its size', '4\r\nhello\r\n0\r\n\r\n'],
    ['data shorter than its size', '6\r\nhello\r\n0\r\n\r\n'],
    ['a sign', '+5\r\nhello\r\n0\r\n\r\n'],
    ['a prefix', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['a blank before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
    ['no size', '\r\nhello\r\n0\r\n\r\n'],
    ['a size beyond 2^52', 'ffffffffffffff\r\n'],
    ['a size that wraps around', '10000000000000005\r\nhello'],
    ['a control character in an extension', '5;a\x01\r\nhello\r\n0\r\n\r\n'],
    ['an endless size line', `5;${'a'.repeat(5000)}`],
    ['an endless trailer', `0\r\n${'X: y\r\n'.repeat(5000)}`],
    ['a trailer with a space before the colon', '0\r\nX : y\r\n\r\n'],
    ['a bare line feed in the trailers', '0\r\nX: y\n\r\n\r\n'],
  ])('refuses %s', (_shape, text) => {
    expect(() => read(text)).toThrow(MalformedHttp)
  })
})

it('trailers that would change framing, routing or credentials do not pass', () => {
  const trailers = new Fields()
  for (const name of ['Content-Length', 'Host', 'Authorization', 'Transfer-Encoding', 'Set-Cookie', 'X-Sum'])
    trailers.add(name, '1')
  expect(lastChunk(trailers)).toBe('0\r\nX-Sum: 1\r\n\r\n')
})
