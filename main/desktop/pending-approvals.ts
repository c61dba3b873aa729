import type { ApprovalView, FeedBatch, FeedSnapshot } from '../../preload/api.ts'

/** The part of the host's feed that is read here. */
export interface FeedSource {
  snapshot(): FeedSnapshot
  /** Returns the end of the subscription. */
  subscribe(listener: (batch: FeedBatch) => void): () => void
}

/** What changed: requests that began and ended waiting for the owner. */
export interface PendingChange {
  began: ApprovalView[]
  ended: ApprovalView[]
}

/** The requests that wait for the owner now, oldest first, for tray, badge, notifications and shortcut. */
export class PendingApprovals {
  private readonly waiting = new Map<string, ApprovalView>()
  private readonly listeners = new Set<(change: PendingChange) => void>()
  private readonly unsubscribe: () => void

  constructor(feed: FeedSource) {
    this.unsubscribe = feed.subscribe((batch) => this.apply(batch))
    for (const approval of Object.values(feed.snapshot().tables.approvals))
      if (approval.state === 'pending') this.waiting.set(approval.id, approval)
  }

  list(): ApprovalView[] {
    return [...this.waiting.values()].sort((a, b) => a.askedAtMs - b.askedAtMs)
  }

  get count(): number {
    return this.waiting.size
  }

  onChange(listener: (change: PendingChange) => void): void {
    this.listeners.add(listener)
  }

  dispose(): void {
    this.unsubscribe()
    this.listeners.clear()
  }

  private apply(batch: FeedBatch): void {
    const change: PendingChange = { began: [], ended: [] }
    for (const delta of batch.deltas) {
      if (!('table' in delta) || delta.table !== 'approvals') continue
      const before = this.waiting.get(delta.key)
      if (delta.value?.state === 'pending') {
        this.waiting.set(delta.key, delta.value)
        if (!before) change.began.push(delta.value)
      } else if (before) {
        this.waiting.delete(delta.key)
        change.ended.push(delta.value ?? before)
      }
    }
    if (change.began.length + change.ended.length > 0) for (const listener of this.listeners) listener(change)
  }
}
