import { expect, test } from 'vitest'
import { RelayLedger } from './relay-ledger.ts'

const line = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message })
const initialize = line({ id: 0, method: 'initialize', params: { clientInfo: { name: 'a', version: '1' } } })

test('calls without an answer get an error, answered and cancelled ones do not', () => {
  const ledger = new RelayLedger()
  for (const id of [1, '1', 2, 3]) ledger.fromAgent(line({ id, method: 'tools/call' }))
  ledger.fromHost(line({ id: 1, result: {} }))
  ledger.fromAgent(line({ method: 'notifications/cancelled', params: { requestId: 2 } }))
  expect(ledger.abandon('gone').map((text) => JSON.parse(text) as unknown)).toEqual([
    { jsonrpc: '2.0', id: '1', error: { code: -32000, message: 'gone' } },
    { jsonrpc: '2.0', id: 3, error: { code: -32000, message: 'gone' } },
  ])
  expect(ledger.abandon('gone')).toEqual([])
})

test('a handshake that was answered is repeated under an id of the relay, whose answer it keeps', async () => {
  const ledger = new RelayLedger()
  ledger.fromAgent(initialize)
  ledger.fromHost(line({ id: 0, result: {} }))
  ledger.fromAgent(line({ method: 'notifications/initialized' }))
  ledger.abandon('gone')
  const sent: string[] = []
  const replayed = ledger.replay((text) => sent.push(text))
  const repeat = JSON.parse(sent[0] ?? '') as { id: string }
  expect(repeat).toMatchObject({ method: 'initialize', params: { clientInfo: { name: 'a', version: '1' } } })
  expect(ledger.fromHost(line({ id: repeat.id, result: {} }))).toBe(false)
  expect(await replayed).toBe(true)
  expect(sent.slice(1)).toEqual(['{"jsonrpc":"2.0","method":"notifications/initialized"}'])
})

test('a handshake without an answer goes to the next host as it was', async () => {
  const ledger = new RelayLedger()
  ledger.fromAgent(initialize)
  expect(ledger.abandon('gone')).toEqual([])
  const sent: string[] = []
  expect(await ledger.replay((text) => sent.push(text))).toBe(false)
  expect(sent).toEqual([initialize])
})

test('an answer to a question of a host that is gone is not taken for one of the next', () => {
  const ledger = new RelayLedger()
  ledger.fromHost(line({ id: 0, method: 'roots/list' }))
  ledger.abandon('gone')
  expect(ledger.fromAgent(line({ id: 0, result: { roots: [] } }))).toBe(false)
  ledger.fromHost(line({ id: 0, method: 'roots/list' }))
  expect(ledger.fromAgent(line({ id: 0, result: { roots: [] } }))).toBe(true)
})

test('a cancel that comes too late is not passed on', () => {
  const ledger = new RelayLedger()
  expect(ledger.fromAgent(line({ method: 'notifications/cancelled', params: { requestId: 9 } }))).toBe(false)
})

test('what is no message passes: the server answers it', () => {
  const ledger = new RelayLedger()
  expect(ledger.fromAgent('hello')).toBe(true)
  expect(ledger.fromAgent('[1]')).toBe(true)
  expect(ledger.fromHost('null')).toBe(true)
})
