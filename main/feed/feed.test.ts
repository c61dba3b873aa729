import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import fc from '../../sidecars/testing/fast-check.ts'
import type { FeedBatch, FeedSnapshot, NoticeView, SettingsView } from '../../preload/api.ts'
import { Feed } from './feed.ts'
import { Notices } from './notices.ts'

const settings: SettingsView = {
  theme: 'system',
  unknownHost: 'ask',
  agentGate: 'observe',
  notifications: true,
  globalShortcut: null,
}
const host = {
  version: '0',
  instanceId: 'i',
  dataDir: '/d',
  platform: 'linux',
  startedAtMs: 0,
  commandLine: 'gatehouse',
}
const notice = (message: string): NoticeView => ({ id: 'n', level: 'info', message, detail: null, atMs: 0 })
const newFeed = (onListenerError?: (error: unknown) => void) =>
  new Feed({ host, settings, ...(onListenerError ? { onListenerError } : {}) })

/** What a window does with batches. */
function apply(state: FeedSnapshot, batch: FeedBatch): FeedSnapshot {
  if (batch.rev <= state.rev) return state
  expect(batch.rev).toBe(state.rev + 1)
  const next = structuredClone({ ...state, rev: batch.rev })
  for (const delta of batch.deltas) {
    if ('counters' in delta) next.counters = delta.counters
    else if ('settings' in delta) next.settings = delta.settings
    else if (delta.value === null) delete next.tables[delta.table][delta.key]
    else (next.tables[delta.table] as Record<string, unknown>)[delta.key] = delta.value
  }
  return next
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('Feed', () => {
  it('sends changes of one key within a frame once, with the last value', () => {
    const feed = newFeed()
    const batches: FeedBatch[] = []
    feed.subscribe((batch) => batches.push(batch))
    feed.set('notices', 'a', notice('one'))
    feed.set('notices', 'a', notice('two'))
    feed.set('notices', 'b', notice('b'))
    expect(batches).toEqual([])
    vi.advanceTimersByTime(16)
    expect(batches).toEqual([
      {
        rev: 1,
        deltas: [
          { table: 'notices', key: 'a', value: notice('two') },
          { table: 'notices', key: 'b', value: notice('b') },
        ],
      },
    ])
  })

  it('sends at most one batch in 16 ms', () => {
    const feed = newFeed()
    let batches = 0
    feed.subscribe(() => batches++)
    for (let ms = 0; ms < 160; ms++) {
      feed.set('notices', 'a', notice(String(ms)))
      vi.advanceTimersByTime(1)
    }
    expect(batches).toBeLessThanOrEqual(11)
    expect(batches).toBeGreaterThan(5)
  })

  it('gives a snapshot that no later batch repeats', () => {
    const feed = newFeed()
    const batches: FeedBatch[] = []
    feed.subscribe((batch) => batches.push(batch))
    feed.set('notices', 'a', notice('one'))
    const snapshot = feed.snapshot()
    expect(snapshot.tables.notices).toEqual({ a: notice('one') })
    expect(batches.map((b) => b.rev)).toEqual([snapshot.rev])
    vi.advanceTimersByTime(100)
    expect(batches).toHaveLength(1)
  })

  it('does nothing for a deletion of what is not there or the same value again', () => {
    const feed = newFeed()
    const value = notice('x')
    feed.set('notices', 'a', value)
    feed.flush()
    feed.set('notices', 'a', value)
    feed.delete('notices', 'zzz')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('gives every subscriber every batch although one of them throws', () => {
    const errors: unknown[] = []
    const feed = newFeed((error) => errors.push(error))
    const seen: number[] = []
    feed.subscribe(() => {
      throw new Error('window gone')
    })
    const end = feed.subscribe((batch) => seen.push(batch.rev))
    feed.setSettings({ ...settings, theme: 'dark' })
    feed.flush()
    end()
    feed.setSettings(settings)
    feed.flush()
    expect(seen).toEqual([1])
    expect(errors).toHaveLength(2)
    expect(feed.subscriberCount).toBe(1)
  })

  it('keeps any subscriber equal to the snapshot, whatever order things happen in', () => {
    const operation = fc.oneof(
      fc.record({ op: fc.constant('set' as const), key: fc.constantFrom('a', 'b', 'c'), text: fc.string() }),
      fc.record({ op: fc.constant('delete' as const), key: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ op: fc.constantFrom('tick' as const, 'join' as const, 'count' as const) }),
    )
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const feed = newFeed()
        const views: { state: FeedSnapshot }[] = []
        let blockedToday = 0
        for (const step of operations)
          if (step.op === 'set') feed.set('notices', step.key, notice(step.text))
          else if (step.op === 'delete') feed.delete('notices', step.key)
          else if (step.op === 'count')
            feed.setCounters({ blockedToday: ++blockedToday, allowedToday: 0, decidedToday: 0, connectionsTotal: 0 })
          else if (step.op === 'tick') vi.advanceTimersByTime(20)
          else {
            const early: FeedBatch[] = []
            const view: { state?: FeedSnapshot } = {}
            feed.subscribe((batch) => {
              if (view.state) view.state = apply(view.state, batch)
              else early.push(batch)
            })
            view.state = early.reduce(apply, feed.snapshot())
            views.push(view as { state: FeedSnapshot })
          }
        const truth = feed.snapshot()
        for (const { state } of views) expect(state).toEqual(truth)
        feed.dispose()
      }),
    )
  })
})

describe('Notices', () => {
  it('holds one row per trouble and takes it away when it is over', () => {
    let now = 5
    const feed = newFeed()
    const logged: string[] = []
    const notices = new Notices(
      feed,
      (message) => logged.push(message),
      () => now,
    )
    notices.raise('disk', { level: 'error', message: 'The disk is full.' })
    now = 9
    notices.raise('disk', { level: 'error', message: 'The disk is full.' })
    expect(feed.get('notices', 'disk')?.atMs).toBe(5)
    expect(logged).toEqual(['The disk is full.'])
    notices.raise('disk', { level: 'error', message: 'The disk is full.', detail: 'ENOSPC' })
    expect(feed.get('notices', 'disk')).toEqual({
      id: 'disk',
      level: 'error',
      message: 'The disk is full.',
      detail: 'ENOSPC',
      atMs: 9,
    })
    notices.clear('disk')
    expect(feed.keys('notices')).toEqual([])
  })

  it('keeps the newest hundred', () => {
    const feed = newFeed()
    const notices = new Notices(feed)
    for (let i = 0; i < 130; i++) notices.raise(`n${i}`, { level: 'info', message: String(i) })
    expect(feed.keys('notices')).toHaveLength(100)
    expect(feed.get('notices', 'n29')).toBeUndefined()
  })
})
