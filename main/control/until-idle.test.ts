import { expect, test } from 'vitest'
import type { FeedSnapshot } from '../../preload/api.ts'
import { untilIdle } from './until-idle.ts'

const TIMING = { firstMs: 60, afterMs: 10, lookIntervalMs: 2 }
const tables = { sessions: {}, processes: {}, approvals: {} }
const snapshotOf = (changed: object) => ({ tables: { ...tables, ...changed } }) as unknown as FeedSnapshot

async function isStillWaiting(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new Promise((resolve) => setTimeout(() => resolve('waiting'), ms))
  return (await Promise.race([promise, timer])) === 'waiting'
}

test.each([
  ['an open session', { sessions: { s: { closedAtMs: null } } }],
  ['a running process', { processes: { p: { state: 'running' } } }],
  ['a pending request', { approvals: { a: { state: 'pending' } } }],
])('%s keeps the host up, its end lets it go', async (_name, busy) => {
  let now: object = busy
  const idle = untilIdle(
    { snapshot: () => snapshotOf(now) },
    { clientCount: 0, clientTotal: 0, refuseClients: () => true },
    TIMING,
  )
  expect(await isStillWaiting(idle, 100)).toBe(true)
  now = {
    sessions: { s: { closedAtMs: 5 } },
    processes: { p: { state: 'closed' } },
    approvals: { a: { state: 'decided' } },
  }
  expect(await idle).toBe('nobody needs the host any more')
})

test('a client keeps it up, also one that came at the last moment', async () => {
  let clientCount = 1
  let isSomebodyAtTheDoor = true
  const control = {
    get clientCount() {
      return clientCount
    },
    clientTotal: 1,
    refuseClients: () => !isSomebodyAtTheDoor,
  }
  const idle = untilIdle({ snapshot: () => snapshotOf({}) }, control, TIMING)
  expect(await isStillWaiting(idle, 100)).toBe(true)
  clientCount = 0
  expect(await isStillWaiting(idle, 50)).toBe(true)
  isSomebodyAtTheDoor = false
  await idle
})

test('before anybody came it waits longer', async () => {
  const idle = untilIdle(
    { snapshot: () => snapshotOf({}) },
    { clientCount: 0, clientTotal: 0, refuseClients: () => true },
    TIMING,
  )
  expect(await isStillWaiting(idle, 30)).toBe(true)
  await idle
})

test('after a client that came and went between two looks it waits only the short time', async () => {
  const patient = { ...TIMING, firstMs: 60_000 }
  await untilIdle(
    { snapshot: () => snapshotOf({}) },
    { clientCount: 0, clientTotal: 1, refuseClients: () => true },
    patient,
  )
})
