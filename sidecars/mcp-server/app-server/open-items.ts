/** What is the case in each thread now: items under way with their text so far, usage, the model's plan. */
import type { Emit, NotificationMap } from '../../protocol/app-server/notifications.ts'
import type { ThreadTokenUsage } from '../../protocol/app-server/thread.ts'
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'

/** The newest output of a command that is kept; trimmed when it is twice as long. */
const OUTPUT_KEPT = 64 * 1024

export interface OpenItem {
  turnId: string
  item: ThreadItem
  startedAtMs: number
}

export interface ThreadNow {
  data: OpenItem[]
  usage: ThreadTokenUsage | null
  plan: NotificationMap['turn/plan/updated']['plan'] | null
}

/** Owned by whoever shows threads; holds no more than what runs, and a few figures of each thread that ran. */
export class OpenItems {
  private readonly usages = new Map<string, ThreadTokenUsage>()
  private readonly plans = new Map<string, NotificationMap['turn/plan/updated']['plan']>()
  private readonly byThread = new Map<string, Map<string, OpenItem>>()

  /** Items in the order in which they began. */
  of(threadId: string): ThreadNow {
    return {
      data: [...(this.byThread.get(threadId)?.values() ?? [])],
      usage: this.usages.get(threadId) ?? null,
      plan: this.plans.get(threadId) ?? null,
    }
  }

  readonly notified: Emit = (method, params) => {
    switch (method) {
      case 'item/started': {
        const { threadId, turnId, item, startedAtMs } = params as NotificationMap['item/started']
        let items = this.byThread.get(threadId)
        if (!items) this.byThread.set(threadId, (items = new Map()))
        items.set(item.id, { turnId, item: { ...item }, startedAtMs })
        return
      }
      case 'item/completed': {
        const { threadId, item } = params as NotificationMap['item/completed']
        this.drop(threadId, ({ item: open }) => open.id === item.id)
        return
      }
      case 'turn/completed': {
        const { threadId, turn } = params as NotificationMap['turn/completed']
        // A command may outlive its turn; everything else ends with it, told or not.
        this.drop(threadId, ({ turnId, item }) => turnId === turn.id && item.type !== 'commandExecution')
        return
      }
      case 'turn/started':
        this.plans.delete((params as { threadId: string }).threadId)
        return
      case 'turn/plan/updated': {
        const { threadId, plan } = params as NotificationMap['turn/plan/updated']
        this.plans.set(threadId, plan)
        return
      }
      case 'thread/tokenUsage/updated': {
        const { threadId, tokenUsage } = params as NotificationMap['thread/tokenUsage/updated']
        this.usages.set(threadId, tokenUsage)
        return
      }
      case 'thread/closed': {
        const { threadId } = params as { threadId: string }
        for (const known of [this.byThread, this.usages, this.plans]) known.delete(threadId)
        return
      }
      case 'item/agentMessage/delta':
      case 'item/reasoning/summaryTextDelta':
      case 'item/commandExecution/outputDelta':
        this.add(params as { threadId: string; itemId: string; delta: string; summaryIndex?: number })
    }
  }

  private add(news: { threadId: string; itemId: string; delta: string; summaryIndex?: number }): void {
    const item = this.byThread.get(news.threadId)?.get(news.itemId)?.item
    switch (item?.type) {
      case 'agentMessage':
        item.text += news.delta
        return
      case 'reasoning': {
        const summary = [...item.summary]
        const at = news.summaryIndex ?? 0
        while (summary.length <= at) summary.push('')
        summary[at] += news.delta
        item.summary = summary
        return
      }
      case 'commandExecution': {
        const output = (item.aggregatedOutput ?? '') + news.delta
        item.aggregatedOutput = output.length > 2 * OUTPUT_KEPT ? output.slice(-OUTPUT_KEPT) : output
      }
    }
  }

  private drop(threadId: string, isOver: (item: OpenItem) => boolean): void {
    const items = this.byThread.get(threadId)
    if (!items) return
    for (const [id, item] of items) if (isOver(item)) items.delete(id)
    if (items.size === 0) this.byThread.delete(threadId)
  }
}
