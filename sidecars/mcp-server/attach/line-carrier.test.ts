import { PassThrough } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { beforeEach, expect, test } from 'vitest'
import { LineCarrier, MAX_MESSAGE_BYTES } from './line-carrier.ts'

let input: PassThrough
let output: PassThrough
let carrier: LineCarrier
let received: JSONRPCMessage[]
let events: string[]
beforeEach(async () => {
  input = new PassThrough()
  output = new PassThrough()
  received = []
  // A carrier of an earlier test may end later; that is told to its own list.
  const own: string[] = []
  events = own
  carrier = new LineCarrier(input, output, {
    onEnded: () => own.push('ended'),
    onProblem: (problem) => own.push(problem),
  })
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has callbacks, no events
  carrier.onmessage = (message) => void received.push(message)
  await carrier.start()
})

const request = (id: number | string, params: object = {}) => ({ jsonrpc: '2.0', id, method: 'tools/call', params })
const answers = () =>
  String(output.read() ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id: unknown; error: { code: number; message: string } })

test('M11 line separators of Unicode are ordinary characters, both ways', async () => {
  const text = 'a\u2028b\u2029c\u0085d'
  input.write(`${JSON.stringify(request(1, { text }))}\n`)
  await expect.poll(() => received).toEqual([request(1, { text })])
  await carrier.send({ jsonrpc: '2.0', id: 1, result: { text } })
  expect(String(output.read())).toBe(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text } })}\n`)
})

test('M13 any chunking, CRLF and a last line without an end are read', async () => {
  const bytes = Buffer.from(`${JSON.stringify(request('€'))}\r\n\r\n${JSON.stringify(request(2))}`)
  for (const byte of bytes) input.write(Uint8Array.of(byte))
  input.end()
  await expect.poll(() => received).toEqual([request('€'), request(2)])
})

test('M13 a message over the limit is answered with its id and the sizes, and the next one works', async () => {
  const line = JSON.stringify({
    ...request(0),
    id: undefined,
    params: { blob: 'x'.repeat(11 * 1024 * 1024) },
    zid: 1,
  }).replace('"zid":1', '"id":7')
  input.write(`${line}\n${JSON.stringify(request(8))}\n`)
  await expect.poll(() => received).toEqual([request(8)])
  const [answer] = answers()
  expect(answer).toMatchObject({ id: 7, error: { code: -32600 } })
  expect(answer?.error.message).toContain(`${line.length} bytes, the limit is ${MAX_MESSAGE_BYTES}`)
})

test.each([
  ['hello', null, -32700],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null, -32600],
  ['{"jsonrpc":"2.0","id":5}', 5, -32600],
  ['{"jsonrpc":"1.0","id":"a","method":"ping"}', 'a', -32600],
  ['7', null, -32600],
])('the line %s is answered with an error and survived', async (line, id, code) => {
  input.write(`${line}\n${JSON.stringify(request(9))}\n`)
  await expect.poll(() => received).toEqual([request(9)])
  expect(answers()).toEqual([expect.objectContaining({ id, error: expect.objectContaining({ code }) })])
  expect(events).toHaveLength(1)
})

test('after the end of input a quick answer still goes out, then it is over', async () => {
  input.write(`${JSON.stringify(request(1))}\n`)
  input.end()
  await expect.poll(() => received.length).toBe(1)
  expect(events).toEqual([])
  await carrier.send({ jsonrpc: '2.0', id: 1, result: {} })
  expect(answers()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
  await expect.poll(() => events).toEqual(['ended'])
})

test('after the end of input a call that waits is not waited for', async () => {
  input.write(`${JSON.stringify(request(1))}\n`)
  input.end()
  await expect.poll(() => events).toEqual(['ended'])
})

test('a client that does not read is not read from', async () => {
  const big = { jsonrpc: '2.0' as const, id: 1, result: { text: 'x'.repeat(2 * 1024 * 1024) } }
  const sent = carrier.send(big)
  await expect.poll(() => input.isPaused()).toBe(true)
  output.resume()
  await sent
  await expect.poll(() => input.isPaused()).toBe(false)
})
