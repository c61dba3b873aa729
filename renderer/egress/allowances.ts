/**
 * What was allowed for a session from this window: the block in a row is then history. Kept beside the
 * feed store, so that it outlives the page; an allowance counts only as long as its rule exists.
 */
import { useStore } from 'zustand'
import { createStore, type StoreApi } from 'zustand/vanilla'
import type { ConnectionView } from '../../preload/api.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { useHostLink } from '../feed/feed-context.tsx'

interface AllowanceState {
  /** Rule id by what it allows. */
  readonly ruleIds: ReadonlyMap<string, string>
}

const stores = new WeakMap<StoreApi<FeedState>, StoreApi<AllowanceState>>()

function allowancesOf(feed: StoreApi<FeedState>): StoreApi<AllowanceState> {
  const known = stores.get(feed) ?? createStore<AllowanceState>(() => ({ ruleIds: new Map() }))
  stores.set(feed, known)
  return known
}

/** This host and port, for this session. */
function allowanceKey({ sessionId, host, port }: ConnectionView): string {
  return `${sessionId} ${host} ${port}`
}

export interface Allowances {
  remember: (row: ConnectionView, ruleId: string) => void
  holdsFor: (row: ConnectionView) => boolean
}

export function useAllowances(): Allowances {
  const { store } = useHostLink()
  const allowances = allowancesOf(store)
  const { ruleIds } = useStore(allowances)
  const rules = useStore(store, (state) => state.tables.rules)
  return {
    remember: (row, ruleId) =>
      allowances.setState(({ ruleIds: known }) => ({ ruleIds: new Map(known).set(allowanceKey(row), ruleId) })),
    holdsFor(row) {
      const ruleId = ruleIds.get(allowanceKey(row))
      return ruleId !== undefined && rules.rows.has(ruleId)
    },
  }
}
