import { afterEach, expect, test } from 'vitest'
import { ScriptedHost } from '../testing/scripted-host.ts'
import { createOutputPorts } from './output-ports.ts'

const ports: { dispose(): void }[] = []
afterEach(() => {
  for (const one of ports.splice(0)) one.dispose()
})

/** What preload does: a window message of our own origin with one port. */
function deliver(token: string, over: Partial<MessageEventInit> = {}): MessagePort {
  const { port1, port2 } = new MessageChannel()
  const event = new MessageEvent('message', {
    data: { type: 'gatehouse.output', processId: 'prc_1', token },
    origin: window.location.origin,
    source: window as unknown as MessageEventSource,
    ports: [port2],
    ...over,
  })
  window.dispatchEvent(event)
  return port1
}
function start(attach: (token: string) => void) {
  const host = new ScriptedHost(undefined, {
    'processes.attach': (_id, _afterSeq, token) => {
      attach(token)
      return { ok: true, value: null }
    },
  })
  const created = createOutputPorts(host.api)
  ports.push(created)
  return { host, created }
}

test('the port may arrive before the answer', async () => {
  const { created, host } = start((token) => void deliver(token))
  const outcome = await created.open('prc_1', 12)
  expect(outcome.ok && typeof outcome.value.postMessage).toBe('function')
  expect(host.callsOf('processes.attach')).toMatchObject([['prc_1', 12, expect.any(String)]])
})

test('the port may arrive after the answer', async () => {
  const { created } = start((token) => void setTimeout(() => deliver(token), 5))
  const outcome = await created.open('prc_1', 0)
  expect(outcome.ok).toBe(true)
})

test('a message of another origin or window is not a port of ours', async () => {
  const { created } = start((token) => {
    deliver(token, { origin: 'https://evil.example' })
    deliver(token, { source: null })
    deliver('another-token')
    setTimeout(() => deliver(token), 5)
  })
  const outcome = await created.open('prc_1', 0)
  expect(outcome.ok).toBe(true)
})

test('a refused attach is the outcome', async () => {
  const host = new ScriptedHost(undefined, {
    'processes.attach': () => ({ ok: false, code: 'notFound', message: 'This process is not known any more.' }),
  })
  const created = createOutputPorts(host.api)
  ports.push(created)
  expect(await created.open('prc_9', 0)).toEqual({
    ok: false,
    code: 'notFound',
    message: 'This process is not known any more.',
  })
})
