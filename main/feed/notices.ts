import type { NoticeView } from '../../preload/api.ts'
import type { Feed } from './feed.ts'

/** Older notices fall off; trouble that still holds is raised again by whoever sees it. */
const KEPT = 100

export interface Notice {
  level: NoticeView['level']
  /** What happened, to what, and what to do: one or two sentences. */
  message: string
  /** Technical cause. */
  detail?: string
}

/**
 * Sentences for the owner about trouble that has no better place. One `id` is one trouble: raising it
 * again replaces the words, clearing it takes them away.
 */
export class Notices {
  private readonly order: string[] = []

  constructor(
    private readonly feed: Feed,
    /** Hears every notice once: without a window the log is where trouble shows first. */
    private readonly log: (message: string) => void = () => {},
    private readonly now: () => number = Date.now,
  ) {}

  raise(id: string, { level, message, detail }: Notice): void {
    const shown = this.feed.get('notices', id)
    if (shown && shown.message === message && shown.detail === (detail ?? null)) return
    this.forget(id)
    this.order.push(id)
    this.log(message)
    this.feed.set('notices', id, { id, level, message, detail: detail ?? null, atMs: this.now() })
    if (this.order.length > KEPT) this.clear(this.order[0]!)
  }

  clear(id: string): void {
    this.forget(id)
    this.feed.delete('notices', id)
  }

  private forget(id: string): void {
    const at = this.order.indexOf(id)
    if (at >= 0) this.order.splice(at, 1)
  }
}
