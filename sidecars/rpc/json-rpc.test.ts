import fc from '../testing/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { formatMessage, MalformedMessage, parseMessage, type RpcMessage } from './json-rpc.ts'

const anyId = fc.oneof(
  fc.string(),
  fc.maxSafeInteger(),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .filter((id) => id > BigInt(Number.MAX_SAFE_INTEGER) || id < BigInt(Number.MIN_SAFE_INTEGER)),
)
/** Values as JSON has them: no -0 and no undefined. */
const anyValue = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const anyMessage: fc.Arbitrary<RpcMessage> = fc.oneof(
  fc.record({ kind: fc.constant('request' as const), id: anyId, method: fc.string(), params: anyValue }),
  fc.record({ kind: fc.constant('notification' as const), method: fc.string(), params: anyValue }),
  fc.record({ kind: fc.constant('result' as const), id: anyId, result: anyValue }),
  fc.record({
    kind: fc.constant('error' as const),
    id: fc.oneof(anyId, fc.constant(null)),
    error: fc.record({ code: fc.integer(), message: fc.string(), data: anyValue }),
  }),
)

function problemOf(text: string): MalformedMessage {
  try {
    parseMessage(text)
  } catch (error) {
    if (error instanceof MalformedMessage) return error
    throw error
  }
  throw new Error(`${text} was accepted`)
}

describe('JSON-RPC messages', () => {
  test('what is written is read back the same, ids beyond 2^53 included, on one line', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const text = formatMessage(message)
        expect(text).not.toContain('\n')
        expect(parseMessage(text)).toEqual(message)
      }),
    )
  })

  test('any text is a message or a MalformedMessage, nothing else', () => {
    const scraps = fc.array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        '"id"',
        ':',
        ',',
        '1',
        '99999999999999999999',
        '"method"',
        '"x"',
        'null',
        '\\',
      ),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          scraps.map((parts) => parts.join('')),
        ),
        (text) => {
          try {
            parseMessage(text)
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedMessage)
          }
        },
      ),
    )
  })

  test('the exact id is that of the message, not one nested or inside a string', () => {
    const text = String.raw`{"note":"\"id\":9007199254740995","params":{"id":9007199254740997},"method":"m", "id" : 9007199254740993 }`
    expect(parseMessage(text)).toMatchObject({ id: 9007199254740993n })
  })

  test('of several ids the last counts, as in JSON.parse', () => {
    expect(parseMessage('{"id":9007199254740993,"id":9007199254740995,"method":"m"}')).toMatchObject({
      id: 9007199254740995n,
    })
  })

  test('a million nested ids are read in one pass', () => {
    const nested = Array(200_000).fill('{"id":9007199254740995}').join(',')
    expect(parseMessage(`{"params":[${nested}],"method":"m","id":9007199254740993}`)).toMatchObject({
      id: 9007199254740993n,
    })
  })

  test.each([
    ['{', 'parseError', null, 'not JSON'],
    ['[{"id":1,"method":"m"}]', 'invalidRequest', null, 'expected a JSON-RPC object'],
    ['"text"', 'invalidRequest', null, 'expected a JSON-RPC object'],
    ['{"id":null,"method":"m"}', 'invalidRequest', null, 'a request id may not be null'],
    ['{"id":{},"method":"m"}', 'invalidRequest', null, 'id: expected a string or an integer'],
    ['{"id":1e30,"method":"m"}', 'invalidRequest', null, 'id: expected a string or a signed 64-bit integer'],
    ['{"id":18446744073709551615,"method":"m"}', 'invalidRequest', null, 'id: expected a string or a signed 64-bit'],
    ['{"id":3,"method":[]}', 'invalidRequest', 3, 'method: expected a string'],
    ['{"id":3}', 'invalidRequest', 3, 'neither a request, a notification nor a response'],
  ])('%s is refused as %s', (text, code, id, message) => {
    expect(problemOf(text)).toMatchObject({ code, id, message: expect.stringContaining(message), isAnswer: false })
  })

  test('an answer with a broken error keeps its id and is marked as an answer', () => {
    expect(problemOf('{"id":4,"error":{"message":"no code"}}')).toMatchObject({ id: 4, isAnswer: true })
  })

  test('the jsonrpc member and unknown members do not matter', () => {
    expect(parseMessage('{"jsonrpc":"1.0","extra":{},"id":1,"method":"m"}')).toEqual({
      kind: 'request',
      id: 1,
      method: 'm',
      params: undefined,
    })
  })
})
