import { expect, it } from 'vitest'
import { RequestGate } from './request-gate.ts'
import { RequestQueues, type Access } from './request-queues.ts'

function harness() {
  const queues = new RequestQueues()
  const log: string[] = []
  const release = new Map<string, () => void>()
  const gate = new RequestGate()
  /** Work that logs its start, waits for `finish(name)` and logs its end. */
  const add = (key: string, name: string, access: Access = 'exclusive', g = gate) =>
    queues.enqueue(key, access, g, async () => {
      log.push(`+${name}`)
      await new Promise<void>((resolve) => release.set(name, resolve))
      log.push(`-${name}`)
    })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const finish = async (name: string) => {
    release.get(name)!()
    await settle()
  }
  return { queues, log, add, settle, finish, gate }
}

it('runs one key in order of arrival', async () => {
  const h = harness()
  for (const name of ['a', 'b', 'c']) h.add('t', name)
  await h.settle()
  for (const name of ['a', 'b', 'c']) await h.finish(name)
  expect(h.log).toEqual(['+a', '-a', '+b', '-b', '+c', '-c'])
  expect(h.queues.size).toBe(0)
})

it('lets another key run while one is blocked', async () => {
  const h = harness()
  h.add('t1', 'stuck')
  h.add('t2', 'free')
  await h.settle()
  await h.finish('free')
  expect(h.log).toEqual(['+stuck', '+free', '-free'])
})

it('skips a request whose gate has shut and goes on with the next', async () => {
  const h = harness()
  const other = new RequestGate()
  h.add('t', 'a')
  h.add('t', 'gone', 'exclusive', other)
  h.add('t', 'c')
  await h.settle()
  await other.shut()
  await h.finish('a')
  expect(h.log).toEqual(['+a', '-a', '+c'])
})

it('shutting a gate waits for the running request; the queued one never runs', async () => {
  const h = harness()
  h.add('t', 'first')
  h.add('t', 'second')
  await h.settle()
  let shut = false
  void h.gate.shut().then(() => (shut = true))
  await h.settle()
  expect(shut).toBe(false)
  await h.finish('first')
  expect([shut, h.log]).toEqual([true, ['+first', '-first']])
})

it('starts two shared reads together after an exclusive one', async () => {
  const h = harness()
  h.add('c', 'write')
  h.add('c', 'read1', 'shared')
  h.add('c', 'read2', 'shared')
  await h.settle()
  await h.finish('write')
  expect(h.log).toEqual(['+write', '-write', '+read1', '+read2'])
})

it('an exclusive request waits for both running reads', async () => {
  const h = harness()
  h.add('c', 'read1', 'shared')
  h.add('c', 'read2', 'shared')
  h.add('c', 'write')
  await h.settle()
  await h.finish('read2')
  expect(h.log).not.toContain('+write')
  await h.finish('read1')
  expect(h.log.at(-1)).toBe('+write')
})

it('a read behind a queued write never overtakes it', async () => {
  const h = harness()
  h.add('c', 'block')
  h.add('c', 'read1', 'shared')
  h.add('c', 'write')
  h.add('c', 'read2', 'shared')
  await h.settle()
  for (const name of ['block', 'read1', 'write', 'read2']) await h.finish(name)
  expect(h.log.filter((l) => l.startsWith('+'))).toEqual(['+block', '+read1', '+write', '+read2'])
})

it('work that throws does not stop the queue', async () => {
  const h = harness()
  h.queues.enqueue('t', 'exclusive', h.gate, async () => {
    throw new Error('boom')
  })
  h.add('t', 'next')
  await h.settle()
  expect(h.log).toEqual(['+next'])
})
