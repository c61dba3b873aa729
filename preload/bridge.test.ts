import { expect, test } from 'vitest'
import type { GatehouseApi } from './api.ts'
import { createBridge, forwardOutputPorts, type Ipc } from './bridge.ts'

type Listener = Parameters<Ipc['on']>[1]

class RecordingIpc implements Ipc {
  readonly invoked: unknown[][] = []
  readonly listeners = new Map<string, Set<Listener>>()

  invoke(...call: [string, ...unknown[]]): Promise<unknown> {
    this.invoked.push(call)
    return Promise.resolve({ ok: true, value: null })
  }
  on(channel: string, listener: Listener): void {
    this.listeners.set(channel, (this.listeners.get(channel) ?? new Set()).add(listener))
  }
  removeListener(channel: string, listener: Listener): void {
    this.listeners.get(channel)?.delete(listener)
  }
  emit(channel: string, ports: MessagePort[], ...args: unknown[]): void {
    for (const listener of this.listeners.get(channel) ?? []) listener({ ports }, ...args)
  }
}

test('a known channel reaches main with its arguments', async () => {
  const ipc = new RecordingIpc()
  const answer = await createBridge(ipc).invoke('processes.endInput', 'prc_1')
  expect(answer).toEqual({ ok: true, value: null })
  expect(ipc.invoked).toEqual([['processes.endInput', 'prc_1']])
})

test.each(['processes.spawn', '__proto__', 'constructor', ''])(
  'the unknown channel %j never reaches main',
  async (name) => {
    const ipc = new RecordingIpc()
    const invoke = createBridge(ipc).invoke as (channel: string) => ReturnType<GatehouseApi['invoke']>
    expect(await invoke(name)).toMatchObject({ ok: false, code: 'forbidden' })
    expect(ipc.invoked).toEqual([])
  },
)

test('a listener gets the payload without the event object, until it unsubscribes', () => {
  const ipc = new RecordingIpc()
  const seen: unknown[][] = []
  const stop = createBridge(ipc).on('navigate', (...args) => seen.push(args))
  ipc.emit('navigate', [], { section: 'inbox', id: null })
  stop()
  ipc.emit('navigate', [], { section: 'rules', id: null })
  expect(seen).toEqual([[{ section: 'inbox', id: null }]])
  expect(ipc.listeners.get('navigate')?.size).toBe(0)
})

test('an unknown event name is refused', () => {
  const on = createBridge(new RecordingIpc()).on as (event: string, listener: () => void) => () => void
  expect(() => on('gatehouse.output', () => {})).toThrow(TypeError)
})

test('the bridge is frozen and offers two functions', () => {
  const bridge = createBridge(new RecordingIpc())
  expect(Object.isFrozen(bridge)).toBe(true)
  expect(Object.keys(bridge)).toEqual(['invoke', 'on'])
})

test('an output port goes on to our own origin only, and a malformed hand-over closes it', () => {
  const ipc = new RecordingIpc()
  const posted: unknown[][] = []
  forwardOutputPorts(ipc, {
    location: { origin: 'app://gatehouse' },
    postMessage: (...args: unknown[]) => void posted.push(args),
  })
  const { port1, port2 } = new MessageChannel()
  ipc.emit('gatehouse.output', [port1], { processId: 'prc_1', token: 't1' })
  expect(posted).toEqual([[{ type: 'gatehouse.output', processId: 'prc_1', token: 't1' }, 'app://gatehouse', [port1]]])

  let closed = false
  const bad = { close: () => (closed = true) } as unknown as MessagePort
  ipc.emit('gatehouse.output', [bad], { processId: 7 })
  expect(closed).toBe(true)
  expect(posted).toHaveLength(1)
  port1.close()
  port2.close()
})
