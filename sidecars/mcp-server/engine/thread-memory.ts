/** What a thread's model knows, and what that has cost. */
import type { ThreadTokenUsage } from '../../protocol/app-server/thread.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import { ModelHistory } from './model-history.ts'
import type { TokenUsage } from './response-reader.ts'
import type { ModelInfo } from './services.ts'
import { addUsage, usageView } from './token-usage.ts'

export interface StoredHistory {
  items: readonly ResponseItem[]
  usage: ThreadTokenUsage | null
}

/** Owned by the thread's session. */
export class ThreadMemory {
  readonly history = new ModelHistory()
  usage: ThreadTokenUsage | null = null
  private reading: Promise<void> | null = null
  private lastTotalTokens = 0

  /** `read` is called once, when the history is first needed: most threads that are opened are only looked at. */
  constructor(private readonly read: () => Promise<StoredHistory>) {}

  /** Reads the stored history, once; whatever was added meanwhile would stand in front of it. */
  ready(): Promise<void> {
    this.reading ??= this.read().then(({ items, usage }) => {
      this.history.replace(items)
      this.usage ??= usage
      this.lastTotalTokens = usage?.last.totalTokens ?? 0
    })
    return this.reading
  }

  /** Takes another history in its place. Rejects as `stored` does; then the old one is not read any more either. */
  async replace(stored: () => Promise<StoredHistory>): Promise<void> {
    this.reading = Promise.resolve()
    const { items, usage } = await stored()
    this.history.replace(items)
    this.usage = usage
    this.lastTotalTokens = usage?.last.totalTokens ?? 0
  }

  /** The last response says that the next request would be too long. */
  isFull(model: ModelInfo): boolean {
    return this.lastTotalTokens >= model.autoCompactTokens
  }

  /** The history was shortened: how full it is will be known with the next response. */
  shortened(): void {
    this.lastTotalTokens = 0
  }

  count(usage: TokenUsage, model: ModelInfo): ThreadTokenUsage {
    this.lastTotalTokens = usage.totalTokens
    this.usage = addUsage(this.usage, usageView(usage), model.contextWindow)
    return this.usage
  }
}
