import { describe, expect, it } from 'vitest'
import type { AgentState } from '../../protocol/app-server/thread-item.ts'
import { stateForModel, untilOneIsFinal } from './child-agents.ts'

/** Agents that a test lets change. */
class Agents {
  readonly states = new Map<string, AgentState['status']>()
  readonly listeners = new Set<() => void>()
  state = (_: string, id: string): AgentState => ({ status: this.states.get(id) ?? 'notFound', message: null })
  onChange = (listener: () => void) => {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }
  set(id: string, status: AgentState['status']): void {
    this.states.set(id, status)
    for (const listener of this.listeners) listener()
  }
}

describe('waiting for agents', () => {
  it('ends with the first that is final, and gives all that are', async () => {
    const agents = new Agents()
    agents.set('a', 'running')
    agents.set('b', 'pendingInit')
    const waiting = untilOneIsFinal(agents, 'me', ['a', 'b'], 60_000, new AbortController().signal)
    agents.set('b', 'running')
    agents.set('a', 'errored')
    expect(await waiting).toEqual({ a: { status: 'errored', message: null } })
    expect(agents.listeners.size).toBe(0)
    expect(await untilOneIsFinal(agents, 'me', ['a', 'b', 'nobody'], 60_000, new AbortController().signal)).toEqual({
      a: { status: 'errored', message: null },
      nobody: { status: 'notFound', message: null },
    })
  })

  it('ends with nothing when time is over, and with the turn when that is', async () => {
    const agents = new Agents()
    agents.set('a', 'running')
    expect(await untilOneIsFinal(agents, 'me', ['a'], 1, new AbortController().signal)).toEqual({})
    const controller = new AbortController()
    const waiting = untilOneIsFinal(agents, 'me', ['a'], 60_000, controller.signal)
    controller.abort(new Error('the turn was interrupted'))
    await expect(waiting).rejects.toThrow('the turn was interrupted')
    await expect(untilOneIsFinal(agents, 'me', ['a'], 60_000, controller.signal)).rejects.toThrow('interrupted')
    expect(agents.listeners.size).toBe(0)
  })
})

it('states are words for the model, with the message where there is one', () => {
  expect(stateForModel({ status: 'notFound', message: null })).toBe('not_found')
  expect(stateForModel({ status: 'completed', message: null })).toEqual({ completed: null })
  expect(stateForModel({ status: 'errored', message: 'x' })).toEqual({ errored: 'x' })
})
