import { expect, test } from 'vitest'
import { createStore } from 'zustand/vanilla'
import { ScriptedHost } from '../testing/scripted-host.ts'
import { NOON_MS, session, sidecar, snapshot } from '../testing/view-fixtures.ts'
import { connectFeed, takeConsecutive } from './feed-client.ts'
import { initialFeedState, type FeedState } from './feed-state.ts'

/** Frames that happen when the test says so. */
class ManualFrames {
  private pending: (() => void)[] = []
  readonly schedule = (run: () => void): (() => void) => {
    this.pending.push(run)
    return () => {
      this.pending = this.pending.filter((other) => other !== run)
    }
  }
  next(): void {
    for (const run of this.pending.splice(0)) run()
  }
}

function start(host: ScriptedHost) {
  const frames = new ManualFrames()
  const store = createStore<FeedState>(initialFeedState)
  const updates: number[] = []
  store.subscribe((state) => updates.push(state.rev))
  const client = connectFeed({ api: host.api, store, schedule: frames.schedule, nowMs: () => NOON_MS })
  return { frames, store, client, updates }
}
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
const titles = (store: { getState(): FeedState }): string[] =>
  [...store.getState().tables.sessions.rows.values()].map((row) => row.title)

test('the first state is the snapshot', async () => {
  const { store } = start(new ScriptedHost(snapshot({ sessions: [session()] })))
  expect(store.getState().phase).toBe('loading')
  await settle()
  expect(store.getState()).toMatchObject({ phase: 'live', rev: 1, host: { version: '0.1.0' } })
  expect(titles(store)).toEqual(['fix flaky test'])
})

test('batches of one frame become one store update', async () => {
  const host = new ScriptedHost()
  const { frames, store, updates } = start(host)
  await settle()
  updates.length = 0
  for (let i = 0; i < 500; i++)
    host.push({ table: 'sessions', key: `ses_${i}`, value: session({ id: `ses_${i}`, title: `t${i}` }) })
  frames.next()
  expect(updates).toEqual([501])
  expect(store.getState().tables.sessions.rows.size).toBe(500)
})

test('a batch that the snapshot already includes is dropped', async () => {
  const host = new ScriptedHost(snapshot({ sessions: [session({ title: 'newer' })] }, { rev: 7 }))
  const { frames, store } = start(host)
  host.pushAt({ rev: 6, deltas: [{ table: 'sessions', key: 'ses_1', value: session({ title: 'older' }) }] })
  host.pushAt({ rev: 8, deltas: [{ table: 'sessions', key: 'ses_2', value: session({ id: 'ses_2', title: 'next' }) }] })
  await settle()
  frames.next()
  expect(titles(store)).toEqual(['newer', 'next'])
  expect(host.callsOf('feed.snapshot')).toHaveLength(1)
})

test('a gap in revisions asks for a new snapshot and keeps what came after it', async () => {
  const host = new ScriptedHost(snapshot({ sessions: [session()] }))
  const { frames, store } = start(host)
  await settle()
  host.current = snapshot({ sessions: [session({ title: 'from the second snapshot' })] }, { rev: 4 })
  host.pushAt({ rev: 4, deltas: [{ table: 'sessions', key: 'ses_1', value: session({ title: 'unseen base' }) }] })
  host.pushAt({
    rev: 5,
    deltas: [{ table: 'sessions', key: 'ses_9', value: session({ id: 'ses_9', title: 'after' }) }],
  })
  frames.next()
  expect(titles(store)).toEqual(['fix flaky test'])
  await settle()
  expect(host.callsOf('feed.snapshot')).toHaveLength(2)
  expect(titles(store)).toEqual(['from the second snapshot', 'after'])
  expect(store.getState().rev).toBe(5)
})

test('a host that does not answer is named, and the next snapshot heals it', async () => {
  let answers = 0
  const host = new ScriptedHost(snapshot(), {
    'feed.snapshot': () => {
      answers += 1
      return answers === 1
        ? { ok: false, code: 'unavailable', message: 'the host is starting' }
        : { ok: true, value: snapshot() }
    },
  })
  const { store, client } = start(host)
  await settle()
  expect(store.getState()).toMatchObject({ phase: 'failed', failure: 'the host is starting' })
  client.resubscribe()
  await settle()
  expect(store.getState()).toMatchObject({ phase: 'live', failure: null })
})

test('a removed row is gone, and only the changed table is a new object', async () => {
  const host = new ScriptedHost(snapshot({ sessions: [session()] }))
  const { frames, store } = start(host)
  await settle()
  const before = store.getState().tables
  host.push({ table: 'sessions', key: 'ses_1', value: null })
  frames.next()
  const after = store.getState().tables
  expect(after.sessions.rows.size).toBe(0)
  expect(after.sessions).not.toBe(before.sessions)
  expect(after.rules).toBe(before.rules)
})

test('the time of the last truth of a sidecar is when it was last seen ready', async () => {
  const host = new ScriptedHost(snapshot({ sidecars: [sidecar('exec-server', { state: 'backoff' })] }))
  const { frames, store } = start(host)
  await settle()
  expect(store.getState().lastReadyAtMs).toEqual({})
  host.push({ table: 'sidecars', key: 'exec-server', value: sidecar('exec-server') })
  host.push({ table: 'sidecars', key: 'exec-server', value: sidecar('exec-server', { state: 'failed' }) })
  frames.next()
  expect(store.getState().lastReadyAtMs).toEqual({ 'exec-server': NOON_MS })
})

test('a disposed client listens to nothing and applies nothing', async () => {
  const host = new ScriptedHost()
  const { frames, store, client } = start(host)
  await settle()
  host.push({ table: 'sessions', key: 'ses_1', value: session() })
  client.dispose()
  frames.next()
  expect(store.getState().tables.sessions.rows.size).toBe(0)
  expect(host.listenerCount()).toBe(0)
})

test('consecutive batches stop at the first hole', () => {
  const batch = (rev: number) => ({ rev, deltas: [] })
  expect(takeConsecutive([batch(2), batch(3), batch(5), batch(6)], 2)).toEqual({
    batches: [batch(3)],
    gap: true,
    rest: [batch(5), batch(6)],
  })
  expect(takeConsecutive([batch(3), batch(4)], 2)).toEqual({ batches: [batch(3), batch(4)], gap: false, rest: [] })
})
