import { describe, expect, it } from 'vitest'
import { formatPathUri, parsePathUri, PathUriError, pathOfText, textOfPath, toPathUri } from './path-uri.ts'

describe('reading a path URI', () => {
  it.each([
    ['file:/tmp/x', '/tmp/x'],
    ['FILE:///tmp/x', '/tmp/x'],
    ['file://localhost/tmp/x', '/tmp/x'],
    ['FILE://LOCALHOST/tmp//', '/tmp'],
    ['file:///tmp//x', '/tmp/x'],
    ['file:////tmp', '/tmp'],
    ['file:///tmp/../etc', '/etc'],
    ['file:///tmp/%2e%2e/etc', '/etc'],
    ['file:///a/b%2F..%2F..%2Fc', '/c'],
    ['file:///tmp/%77', '/tmp/w'],
    ['file:///tmp/a b', '/tmp/a b'],
    ['file:///tmp/%zz', '/tmp/%zz'],
    ['file:///tmp\\x', '/tmp/x'],
    ['file:tmp', '/tmp'],
    ['file:', '/'],
    ['file:///tmp/./.', '/tmp'],
    ['  file:///tmp ', '/tmp'],
    ['file:///t\nmp', '/tmp'],
    ['file:///tmp/C:/x', '/tmp/C:/x'],
    ['file:///tmp/%C3%A9', '/tmp/\u00c3\u00a9'],
    ['file:///tmp/é', '/tmp/\u00c3\u00a9'],
    ['file:///tmp/%FF', '/tmp/\u00ff'],
  ])('%s is %s', (uri, path) => expect(parsePathUri(uri)).toBe(path))

  it.each([
    ['/tmp', 'invalid URI: relative URL without a base', 'malformed'],
    ['', 'invalid URI: relative URL without a base', 'malformed'],
    ['http://x/', 'unsupported path URI scheme `http`', 'malformed'],
    ['file:///tmp?x', 'query parameters are not allowed in path URIs', 'malformed'],
    ['file:///tmp?', 'query parameters are not allowed in path URIs', 'malformed'],
    ['file:///tmp#', 'fragments are not allowed in path URIs', 'malformed'],
    ['file://host/x', "'file://host/x' is invalid on 'linux'", 'foreign'],
    ['file://127.0.0.1/tmp', "'file://127.0.0.1/tmp' is invalid on 'linux'", 'foreign'],
    ['file:///C:/x', "'file:///C:/x' is invalid on 'linux'", 'foreign'],
    ['file:///C%3A/x', "'file:///C%3A/x' is invalid on 'linux'", 'foreign'],
    ['file:///tmp/%00', "'file:///tmp/%00' is invalid on 'linux'", 'malformed'],
  ])('%j is refused: %s', (uri, message, kind) => {
    let caught: unknown
    try {
      parsePathUri(uri)
    } catch (error) {
      caught = error
    }
    expect(caught).toBeInstanceOf(PathUriError)
    expect(caught).toMatchObject({ message, kind })
  })
})

it('writes every byte so that reading gives it back', () => {
  let name = ''
  for (let byte = 1; byte < 256; byte++) if (byte !== 0x2f) name += String.fromCharCode(byte)
  const path = `/tmp/${name}` as ReturnType<typeof parsePathUri>
  expect(parsePathUri(formatPathUri(path))).toBe(path)
})

it('escapes what the reference escapes and nothing else', () => {
  expect(formatPathUri(pathOfText('/a b"#%<>?\\`{}é'))).toBe('file:///a%20b%22%23%25%3C%3E%3F%5C%60%7B%7D%C3%A9')
  expect(formatPathUri(pathOfText("/!$&'()*+,-.:;=@[]^_|~"))).toBe("file:///!$&'()*+,-.:;=@[]^_|~")
})

it('tells names that are not UTF-8', () => {
  expect(textOfPath(parsePathUri('file:///tmp/%C3%A9'))).toBe('/tmp/é')
  expect(textOfPath(parsePathUri('file:///tmp/%FF'))).toBeNull()
})

it.each([
  ['/tmp/a b', 'file:///tmp/a%20b'],
  ['C:\\dir\\x', 'file:///C:/dir/x'],
  ['\\\\host\\share\\x', 'file://host/share/x'],
  ['file:///tmp', 'file:///tmp'],
])('the native path %s becomes %s', (path, uri) => expect(toPathUri(path)).toBe(uri))

it('refuses a relative path by name', () => {
  expect(() => toPathUri('src/x')).toThrow('"src/x" is not an absolute path')
})
