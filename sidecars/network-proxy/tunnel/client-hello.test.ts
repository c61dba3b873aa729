import { describe, expect, it } from 'vitest'
import { clientHello } from '../test-kit/client-hello-bytes.ts'
import { readClientHello } from './client-hello.ts'

describe('readClientHello', () => {
  it('finds the server name, or that there is none', () => {
    expect(readClientHello(clientHello('a.test'))).toEqual({ kind: 'hello', serverName: 'a.test' })
    expect(readClientHello(clientHello(undefined))).toEqual({ kind: 'hello', serverName: undefined })
  })

  it('wants more for every prefix of a hello, however it is cut into records', () => {
    for (const recordBytes of [16_384, 50, 7]) {
      const hello = clientHello('a.test', { recordBytes })
      for (let length = 0; length < hello.length; length++)
        expect(readClientHello(hello.subarray(0, length)).kind).toBe('incomplete')
      expect(readClientHello(hello)).toEqual({ kind: 'hello', serverName: 'a.test' })
    }
  })

  it.each([
    ['text', Buffer.from('GET / HTTP/1.1')],
    ['SSH', Buffer.from('SSH-2.0-x')],
    ['a record byte without a TLS version', Buffer.from([22, 9, 1, 0, 5])],
  ])('%s is not TLS', (_what, bytes) => {
    expect(readClientHello(bytes)).toEqual({ kind: 'not-tls' })
  })

  it('what hides its name is malformed, not nameless', () => {
    const hello = clientHello('a.test')
    const truncated = Buffer.from(hello)
    // The extensions claim more bytes than the handshake has.
    truncated.writeUInt16BE(9999, 5 + 4 + 2 + 32 + 1 + 4 + 2)
    expect(readClientHello(truncated).kind).toBe('malformed')
    expect(readClientHello(clientHello('a.test', { moreNames: ['b.test'] })).kind).toBe('malformed')
    expect(readClientHello(Buffer.from([22, 3, 1, 0, 0])).kind).toBe('malformed')
    expect(readClientHello(Buffer.from([22, 3, 1, 0, 5, 2, 0, 0, 1, 0])).kind).toBe('malformed')
    expect(readClientHello(Buffer.from([22, 3, 1, 64, 0, 1, 255, 255, 255])).kind).toBe('malformed')
  })
})
