/** Everything the window knows from the host, and how fresh it is. */
import type { FeedCounters, FeedSnapshot, SettingsView, SidecarName } from '../../preload/api.ts'
import { emptyTables, type Tables } from './tables.ts'

export interface FeedState {
  /** `failed`: the host did not answer; `failure` says why and the window tries again by itself. */
  readonly phase: 'loading' | 'live' | 'failed'
  readonly failure: string | null
  readonly rev: number
  readonly tables: Tables
  readonly counters: FeedCounters
  readonly settings: SettingsView
  readonly host: FeedSnapshot['host'] | null
  /** When each sidecar was last seen ready: the time of the last truth of the pages it feeds. */
  readonly lastReadyAtMs: Readonly<Partial<Record<SidecarName, number>>>
}

export function initialFeedState(): FeedState {
  return {
    phase: 'loading',
    failure: null,
    rev: 0,
    tables: emptyTables(),
    counters: { blockedToday: 0, allowedToday: 0, decidedToday: 0, connectionsTotal: 0 },
    settings: { theme: 'system', unknownHost: 'ask', agentGate: 'ask', notifications: true, globalShortcut: null },
    host: null,
    lastReadyAtMs: {},
  }
}
