import fc from '../../testing/fast-check.ts'
import { describe, expect, it } from 'vitest'
import { formatError, formatResult, parseWireMessage } from './envelope.ts'
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-limits.ts'

const MARKS = new Map([
  ['chunk', Buffer.from('"chunk":"')],
  ['dataBase64', Buffer.from('"dataBase64":"')],
])
const parse = (text: string) => parseWireMessage(Buffer.from(text), MARKS)

describe('reading a message', () => {
  it('tells requests, notifications and responses apart and ignores what it does not know', () => {
    expect(parse('{"jsonrpc":"1.0","id":1,"method":"a/b","params":{"x":1},"extra":[]}')).toEqual({
      kind: 'request',
      idText: '1',
      method: 'a/b',
      params: { x: 1 },
      bulk: undefined,
    })
    expect(parse('{"method":"initialized"}')).toEqual({ kind: 'notification', method: 'initialized', params: null })
    expect(parse('{"id":"q","result":null}')).toEqual({
      kind: 'response',
      idText: '"q"',
      outcome: { result: null },
    })
    expect(parse('{"id":7,"error":{"code":-32601,"message":"no"}}')).toMatchObject({
      outcome: { error: { code: -32601, message: 'no' } },
    })
  })

  it('keeps every digit of an integer id, wherever it stands and whatever looks like it', () => {
    const id = (text: string) => {
      const message = parse(text)
      return message.kind === 'request' ? message.idText : undefined
    }
    expect(id('{"id":9007199254740993,"method":"m"}')).toBe('9007199254740993')
    expect(id('{"method":"m","params":{"id":9007199254740995},"id":9007199254740993}')).toBe('9007199254740993')
    expect(id('{"method":"\\"id\\":9007199254740997","id" : -9223372036854775808}')).toBe('-9223372036854775808')
    expect(id('{"id":9223372036854775807,"method":"m"}')).toBe('9223372036854775807')
    expect(id('{"id":0,"method":"m"}')).toBe('0')
    expect(id('{"id":"a\\"b","method":"m"}')).toBe('"a\\"b"')
  })

  it('echoes any 64-bit id exactly', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
        const message = parse(`{"method":"m","id":${id}}`)
        expect(message).toMatchObject({ kind: 'request', idText: String(id) })
      }),
    )
  })

  it.each([
    ['text that is no JSON', '{bad'],
    ['a batch', '[{"id":1,"method":"m"}]'],
    ['a scalar', '7'],
    ['an empty message', ''],
    ['a null id', '{"id":null,"method":"m"}'],
    ['a float id', '{"id":1.5,"method":"m"}'],
    ['an integer written as a float', '{"id":1.0,"method":"m"}'],
    ['an id with an exponent', '{"id":1e2,"method":"m"}'],
    ['an id above 64 bits', '{"id":9223372036854775808,"method":"m"}'],
    ['an object as id', '{"id":{},"method":"m"}'],
    ['a method that is no string', '{"id":1,"method":7}'],
    ['neither method nor result', '{"id":1}'],
    ['a trace of the wrong type', '{"id":1,"method":"m","trace":7}'],
    ['a trace with a number', '{"id":1,"method":"m","trace":{"traceparent":7}}'],
    ['half of a surrogate pair', '{"id":1,"method":"m","params":["\\ud83d"]}'],
    ['the second half alone, in a key', '{"id":1,"method":"m","params":{"\\uDE00":1}}'],
    ['two first halves', '{"id":"\\ud83d\\ud83d\\ude00","method":"m"}'],
    ['an error without a code', '{"id":1,"error":{"message":"x"}}'],
    ['a key that stands twice', '{"id":1,"method":"m","params":{"a":1,"a":2}}'],
    ['the envelope key twice', '{"id":1,"id":2,"method":"m"}'],
  ])('refuses %s', (_, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ name: 'MalformedMessage' }))
  })

  it('refuses bytes that are not UTF-8', () => {
    expect(() => parseWireMessage(Buffer.from([0x7b, 0xff, 0x7d]), MARKS)).toThrow(/UTF-8/)
  })

  it('takes a trace and null in its members', () => {
    expect(parse('{"id":1,"method":"m","trace":{"traceparent":"00-1","tracestate":null}}')).toMatchObject({
      method: 'm',
    })
  })

  it('does not look at the trace of a notification', () => {
    expect(parse('{"method":"initialized","trace":7}')).toEqual({
      kind: 'notification',
      method: 'initialized',
      params: null,
    })
  })

  it('takes escaped pairs, and what only looks like half of one', () => {
    expect(parse('{"id":1,"method":"m","params":["\\uD83D\\ude00","\\\\ud83d","\\u00e9"]}')).toMatchObject({
      params: ['😀', '\\ud83d', 'é'],
    })
  })

  it('takes the allowed nesting and refuses one more, long before the stack is in danger', () => {
    // The envelope itself is one level.
    const nested = (depth: number) => `{"id":1,"method":"m","params":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect(parse(nested(MAX_JSON_DEPTH - 1))).toMatchObject({ kind: 'request' })
    expect(() => parse(nested(MAX_JSON_DEPTH))).toThrow(/recursion limit/)
    expect(() => parse(nested(200_000))).toThrow(/recursion limit/)
  })

  it('refuses more values than the wire allows', () => {
    const list = (length: number) => `{"id":1,"method":"m","params":[${'0,'.repeat(length)}0]}`
    expect(parse(list(1000))).toMatchObject({ kind: 'request' })
    expect(() => parse(list(MAX_JSON_VALUES))).toThrow(/JSON values/)
  })

  it('never throws anything but MalformedMessage', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.tuple(fc.json(), fc.json(), fc.json()).map(([a, b, c]) => `{"id":${a},"method":${b},"params":${c}}`),
        ),
        (text) => {
          try {
            parse(text)
          } catch (error) {
            expect((error as Error).name).toBe('MalformedMessage')
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('a long member', () => {
  const long = 'A'.repeat(40_000)

  it('is left where it arrived, and the rest is read around it', () => {
    const message = parse(`{"id":1,"method":"fs/writeFile","params":{"path":"file:///x","dataBase64":"${long}","b":2}}`)
    expect(message).toMatchObject({ params: { path: 'file:///x', dataBase64: '', b: 2 }, bulk: { name: 'dataBase64' } })
    expect(message.kind === 'request' && message.bulk?.text.toString()).toBe(long)
  })

  it('is read in the ordinary way when it holds escapes', () => {
    const message = parse(`{"id":1,"method":"m","params":{"dataBase64":"${long}\\/"}}`)
    expect(message).toMatchObject({ params: { dataBase64: `${long}/` }, bulk: undefined })
  })

  it('is not taken from another place of the message', () => {
    const nested = parse(`{"id":1,"method":"m","params":{"sandbox":{"dataBase64":"${long}"},"dataBase64":"QQ=="}}`)
    expect(nested).toMatchObject({ params: { dataBase64: 'QQ==', sandbox: { dataBase64: long } }, bulk: undefined })
    const key = parse(`{"id":1,"method":"m","params":{"a\\"dataBase64":"${long}","dataBase64":"QQ=="}}`)
    expect(key).toMatchObject({ params: { dataBase64: 'QQ==', 'a"dataBase64': long } })
  })
})

describe('writing an answer', () => {
  it('has no jsonrpc member and the id as it came', () => {
    expect(formatResult('9007199254740993', '{}')).toBe('{"id":9007199254740993,"result":{}}')
    expect(formatError('-1', { code: -32600, message: 'a "b"' })).toBe(
      '{"error":{"code":-32600,"message":"a \\"b\\""},"id":-1}',
    )
    expect(JSON.parse(formatError('1', { code: 1, message: 'x', data: { kind: 'k' } }))).toEqual({
      error: { code: 1, message: 'x', data: { kind: 'k' } },
      id: 1,
    })
  })
})
