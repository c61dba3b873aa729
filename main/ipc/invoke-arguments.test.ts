import { expect, test } from 'vitest'
import { decode } from '../../sidecars/protocol/decode.ts'
import { invokeArguments } from './invoke-arguments.ts'

test('a decision is read with its words', () => {
  const intent = { requestId: 'req_1', subjectHash: 'ab', verdict: 'deny', scope: 'once', reason: 'not today' }
  expect(decode(invokeArguments['approvals.decide'], [intent], 'arguments')).toEqual([intent])
})

test.each([
  ['approvals.decide', [{ requestId: 'r', subjectHash: 'h', verdict: 'yes', scope: 'once' }], 'arguments[0].verdict'],
  ['approvals.decide', [], 'arguments'],
  ['processes.write', ['p'], 'arguments'],
  ['processes.write', ['p', 5], 'arguments[1]'],
  ['processes.resize', ['p', 0, 24], 'arguments[1]'],
  ['sidecars.restart', ['init'], 'arguments[0]'],
  ['feed.snapshot', ['surplus'], 'arguments'],
  ['clipboard.write', [['x']], 'arguments[0]'],
  ['settings.set', [{ theme: 'pink' }], 'arguments[0].theme'],
  ['settings.set', [{ dataDir: '/' }], 'arguments[0].dataDir'],
] as const)('%s%j is refused and the place named: %s', (channel, args, place) => {
  expect(() => decode<unknown>(invokeArguments[channel], args, 'arguments')).toThrow(
    expect.objectContaining({ path: place }),
  )
})

test('no shortcut is a setting, not an absence', () => {
  expect(decode(invokeArguments['settings.set'], [{ globalShortcut: null }], 'arguments')).toEqual([
    { globalShortcut: null },
  ])
})

test('a name too long to be one is refused', () => {
  expect(() => decode(invokeArguments['egress.undo'], ['x'.repeat(5000)], 'arguments')).toThrow('at most 4096')
})

test('an export of very many connections is no text too long', () => {
  const export100k = 'x'.repeat(40 * 1024 * 1024)
  expect(invokeArguments['egress.saveExport'](['connections.har', export100k], 'args')[1]).toHaveLength(
    export100k.length,
  )
})
