import { describe, expect, it } from 'vitest'
import { ActiveTurn } from './active-turn.ts'
import { ToolFailure, TurnStop, type ToolCall, type ToolHandler, type ToolOutput } from './tool-call.ts'
import { ToolLock } from './tool-lock.ts'
import { ToolRuntime } from './tool-runtime.ts'
import { policyOfMode, type Settings } from './thread-settings.ts'

const newTurn = () =>
  new ActiveTurn(
    't',
    'regular',
    { cwd: '/w', workspaceRoots: ['/w'], sandboxPolicy: policyOfMode('read-only') } as Settings,
    { outputSchema: null, serviceTier: null },
    0,
  )
const call = (name: string, payload: ToolCall['payload'] = { kind: 'function', argumentsText: '{}' }): ToolCall => ({
  callId: `call-${name}`,
  name,
  namespace: null,
  payload,
})
const good = (content: string): ToolOutput => ({ content, success: true })

/** A tool that ends when a test says so. */
function controlled(more: Partial<ToolHandler> = {}) {
  let settle!: { resolve: (output: ToolOutput) => void; reject: (error: Error) => void }
  let begin!: () => void
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const handler: ToolHandler = {
    parallel: true,
    run: () => {
      begin()
      return new Promise((resolve, reject) => (settle = { resolve, reject }))
    },
    ...more,
  }
  return {
    handler,
    begun,
    end: (text: string) => settle.resolve(good(text)),
    fail: (error: Error) => settle.reject(error),
  }
}
const runtimeOf = (tools: Record<string, ToolHandler>, turn = newTurn(), now = () => 0) => ({
  turn,
  runtime: new ToolRuntime({ handler: ({ name }) => tools[name] ?? null }, turn, now),
})

describe('the lock of a turn', () => {
  it('lets parallel calls share it, and nobody overtake a call that wants it alone', async () => {
    const lock = new ToolLock()
    const { signal } = new AbortController()
    const log: string[] = []
    const ends = new Map<string, () => void>()
    const work = (name: string, alone: boolean) =>
      lock.run(alone, signal, () => {
        log.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
    const all = [work('a', false), work('b', false), work('alone', true), work('c', false)]
    await Promise.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toEqual(['a', 'b'])
    ends.get('a')!()
    await all[0]
    expect(log).toEqual(['a', 'b'])
    ends.get('b')!()
    await all[1]
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toEqual(['a', 'b', 'alone'])
    ends.get('alone')!()
    await all[2]
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toEqual(['a', 'b', 'alone', 'c'])
    ends.get('c')!()
    await all[3]
  })

  it('does not start a call that was cancelled while it waited', async () => {
    const lock = new ToolLock()
    const cancel = new AbortController()
    let end!: () => void
    const first = lock.run(true, new AbortController().signal, () => new Promise<void>((resolve) => (end = resolve)))
    const second = lock.run(true, cancel.signal, () => expect.unreachable() as Promise<void>)
    cancel.abort(new Error('gone'))
    await expect(second).rejects.toThrow('gone')
    end()
    await first
    expect(await lock.run(true, new AbortController().signal, () => Promise.resolve('next'))).toBe('next')
  })
})

describe('tool calls', () => {
  it('start at once, run beside each other and answer in the order of the calls', async () => {
    const [a, b] = [controlled(), controlled()]
    const { runtime } = runtimeOf({ a: a.handler, b: b.handler })
    runtime.start(call('a'))
    runtime.start(call('b'))
    await Promise.all([a.begun, b.begun])
    b.end('B')
    a.end('A')
    expect((await runtime.outputs()).items.map(({ call_id, output }) => [call_id, output])).toEqual([
      ['call-a', 'A'],
      ['call-b', 'B'],
    ])
  })

  it('answer in the shape of their call, also when they fail or nobody knows them', async () => {
    const failing: ToolHandler = { parallel: true, run: () => Promise.reject(new ToolFailure('cannot')) }
    const { runtime } = runtimeOf({ f: failing, c: failing, tool_search: failing })
    runtime.start(call('f'))
    runtime.start(call('c', { kind: 'custom', input: 'x' }))
    runtime.start(call('tool_search', { kind: 'toolSearch', arguments: {} }))
    runtime.start(call('unknown'))
    const { items, stop } = await runtime.outputs()
    expect(items).toEqual([
      { type: 'function_call_output', call_id: 'call-f', output: 'cannot' },
      { type: 'custom_tool_call_output', call_id: 'call-c', output: 'cannot' },
      { type: 'tool_search_output', call_id: 'call-tool_search', status: 'completed', execution: 'client', tools: [] },
      { type: 'function_call_output', call_id: 'call-unknown', output: 'unsupported call: unknown' },
    ])
    expect(stop).toBeNull()
  })

  it('that end the turn or are our fault stop it, after the others have ended', async () => {
    for (const error of [new TurnStop('cancelled'), new Error('a bug')]) {
      const [a, b] = [controlled(), controlled()]
      const { runtime } = runtimeOf({ a: a.handler, b: b.handler })
      runtime.start(call('a'))
      runtime.start(call('b'))
      await Promise.all([a.begun, b.begun])
      a.fail(error)
      b.end('B')
      const { items, stop } = await runtime.outputs()
      expect([stop, items[1]!.output]).toEqual([error, 'B'])
      expect(items).toHaveLength(2)
    }
  })

  it('that are cancelled answer with the time they took; a result that is there stays', async () => {
    let now = 0
    const [done, cut, own, waiting] = [
      controlled(),
      controlled(),
      controlled({ abortedText: (seconds) => `Wall time: ${seconds} seconds\naborted by user` }),
      controlled({ parallel: false }),
    ]
    const tools = { done: done.handler, cut: cut.handler, own: own.handler, waiting: waiting.handler }
    const { runtime, turn } = runtimeOf(tools, newTurn(), () => now)
    for (const name of Object.keys(tools)) runtime.start(call(name))
    await Promise.all([done.begun, cut.begun, own.begun])
    done.end('real')
    now = 1240
    await new Promise((resolve) => setImmediate(resolve))
    turn.abort('interrupted')
    const { items } = await runtime.outputs()
    expect(items.map(({ output }) => output)).toEqual([
      'real',
      'aborted by user after 1.2s',
      'Wall time: 1.2 seconds\naborted by user',
      'aborted by user after 1.2s',
    ])
    cut.end('too late')
    expect((await runtime.outputs()).items[1]!.output).toBe('aborted by user after 1.2s')
  })

  it('never say that they took no time, and are waited for where they clean up', async () => {
    const [quick, tidy] = [controlled(), controlled({ waitsForCancellation: true })]
    const { runtime, turn } = runtimeOf({ quick: quick.handler, tidy: tidy.handler })
    runtime.start(call('quick'))
    runtime.start(call('tidy'))
    await Promise.all([quick.begun, tidy.begun])
    turn.abort('interrupted')
    let isOver = false
    const outputs = runtime.outputs().then((result) => {
      isOver = true
      return result
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    tidy.fail(turn.signal.reason as Error)
    expect((await outputs).items.map(({ output }) => output)).toEqual([
      'aborted by user after 0.1s',
      'aborted by user after 0.1s',
    ])
  })
})
