/** Keeps the feed store in step with the host: snapshot, then deltas, and a new snapshot after a gap. */
import type { StoreApi } from 'zustand/vanilla'
import type { FeedBatch, GatehouseApi } from '../../preload/api.ts'
import { applyBatches, applySnapshot } from './apply-deltas.ts'
import type { FeedState } from './feed-state.ts'
import { onNextFrame, type Schedule } from './frame-schedule.ts'

const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

export interface FeedClientOptions {
  api: GatehouseApi
  store: StoreApi<FeedState>
  schedule?: Schedule
  nowMs?: () => number
}

export interface FeedClient {
  /** Asks for a new snapshot at once, for example after a failure. */
  resubscribe(): void
  dispose(): void
}

/**
 * Subscribes first and asks for the snapshot second, so that no batch falls between the two. Batches
 * wait in a queue and are applied together once per animation frame. Until a gap is closed by a new
 * snapshot the state stays at the last revision that was complete.
 */
export function connectFeed({ api, store, schedule = onNextFrame, nowMs = Date.now }: FeedClientOptions): FeedClient {
  let queue: FeedBatch[] = []
  let cancelFlush: (() => void) | null = null
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let retryMs = FIRST_RETRY_MS
  let awaitingSnapshot = false
  let disposed = false

  const flush = (): void => {
    cancelFlush = null
    if (awaitingSnapshot) return
    const state = store.getState()
    const next = takeConsecutive(queue, state.rev)
    queue = []
    if (next.batches.length > 0) store.setState(applyBatches(state, next.batches, nowMs()), true)
    if (next.gap) {
      // What came after the gap may be newer than the snapshot we are about to get.
      queue = next.rest
      askForSnapshot()
    }
  }

  const askForSnapshot = (): void => {
    if (awaitingSnapshot || disposed) return
    clearTimeout(retryTimer)
    awaitingSnapshot = true
    void api
      .invoke('feed.snapshot')
      .catch((cause: unknown) => ({ ok: false as const, code: 'disconnected', message: String(cause) }))
      .then((outcome) => {
        awaitingSnapshot = false
        if (disposed) return
        if (!outcome.ok) return fail(outcome.message)
        retryMs = FIRST_RETRY_MS
        store.setState(applySnapshot(store.getState(), outcome.value, nowMs()), true)
        flush()
      })
  }

  const fail = (message: string): void => {
    store.setState({ phase: 'failed', failure: message })
    // Without a snapshot the batches have nothing to be applied to; the next snapshot includes them.
    queue = []
    retryTimer = setTimeout(askForSnapshot, retryMs)
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
  }

  const unsubscribe = api.on('feed.batch', (batch) => {
    queue.push(batch)
    cancelFlush ??= schedule(flush)
  })
  askForSnapshot()

  return {
    resubscribe: askForSnapshot,
    dispose() {
      disposed = true
      unsubscribe()
      cancelFlush?.()
      clearTimeout(retryTimer)
    },
  }
}

/** Splits queued batches into those that follow `rev` without a hole, and the rest behind the first hole. */
export function takeConsecutive(
  queue: readonly FeedBatch[],
  rev: number,
): { batches: FeedBatch[]; gap: boolean; rest: FeedBatch[] } {
  const batches: FeedBatch[] = []
  let expected = rev + 1
  for (const [index, batch] of queue.entries()) {
    if (batch.rev < expected) continue
    if (batch.rev > expected) return { batches, gap: true, rest: queue.slice(index) }
    batches.push(batch)
    expected += 1
  }
  return { batches, gap: false, rest: [] }
}
