/** What is under way in each thread: items that have begun and not ended, with their text so far. */
import type { Emit, NotificationMap } from '../../protocol/app-server/notifications.ts'
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'

/** The newest output of a command that is kept; trimmed when it is twice as long. */
const OUTPUT_KEPT = 64 * 1024

export interface OpenItem {
  turnId: string
  item: ThreadItem
  startedAtMs: number
}

/** Owned by whoever shows threads; holds no more than what runs. */
export class OpenItems {
  private readonly byThread = new Map<string, Map<string, OpenItem>>()

  /** In the order in which they began. */
  of(threadId: string): OpenItem[] {
    return [...(this.byThread.get(threadId)?.values() ?? [])]
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
      case 'thread/closed':
        this.byThread.delete((params as { threadId: string }).threadId)
        return
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
