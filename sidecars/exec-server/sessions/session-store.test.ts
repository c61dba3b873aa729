import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MethodTable } from '../wire/method-table.ts'
import { WireConnection } from '../wire/wire-connection.ts'
import type { Carrier, CarrierHandlers } from '../wire/carrier.ts'
import { DETACHED_SESSION_TTL_MS, SessionStore } from './session-store.ts'

/** A connection that goes nowhere. */
function connection(): WireConnection {
  let handlers: CarrierHandlers | undefined
  const carrier: Carrier = {
    label: 'test',
    kind: 'JSON-RPC message',
    queuedBytes: 0,
    isCongested: false,
    start: (given) => void (handlers = given),
    sendText() {},
    sendFilled() {},
    sendParts: () => Promise.resolve(),
    pause() {},
    resume() {},
    close: (reason) => handlers?.onClose(reason),
  }
  const handshake = { initialize: () => ({}), initialized: () => true, requireReady() {} }
  const made = new WireConnection(
    carrier,
    { kind: 'agent', via: 'test', address: '' },
    new MethodTable(),
    handshake,
    () => {},
  )
  made.start()
  return made
}
function storeWith() {
  const closed: string[] = []
  return { closed, store: new SessionStore({ onOpened() {}, onClosed: (session) => closed.push(session.wireId) }) }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the store of sessions', () => {
  it('keeps a session for 80 s after its connection ended, and then closes it once', () => {
    const { store, closed } = storeWith()
    const first = connection()
    const session = store.open('a', first)
    first.close('gone')
    vi.advanceTimersByTime(DETACHED_SESSION_TTL_MS - 1)
    expect(closed).toEqual([])
    const second = connection()
    expect(store.resume(session.wireId, second)).toBe(session)
    vi.advanceTimersByTime(10 * DETACHED_SESSION_TTL_MS)
    expect(closed).toEqual([])
    second.close('gone')
    vi.advanceTimersByTime(DETACHED_SESSION_TTL_MS)
    expect(closed).toEqual([session.wireId])
    expect(() => store.resume(session.wireId, connection())).toThrow(`unknown session id ${session.wireId}`)
  })

  it('E26 is not moved by the wall clock: a jump ends no session early and none late', () => {
    const { store, closed } = storeWith()
    const first = connection()
    store.open('a', first)
    first.close('gone')
    vi.setSystemTime(Date.now() + 8 * 3_600_000)
    vi.advanceTimersByTime(DETACHED_SESSION_TTL_MS - 1)
    expect(closed).toEqual([])
    vi.setSystemTime(Date.now() - 3_600_000)
    vi.advanceTimersByTime(1)
    expect(closed).toHaveLength(1)
  })

  it('knows which session a connection speaks for, also after the session was closed', () => {
    const { store, closed } = storeWith()
    const first = connection()
    const session = store.open('a', first)
    expect(store.of(first)).toBe(session)
    expect(() => store.of(connection())).toThrow(/initialize/)
    store.closeAll('stop')
    expect(closed).toEqual([session.wireId])
    expect(() => store.resume(session.wireId, connection())).toThrow(/unknown session/)
  })
})
