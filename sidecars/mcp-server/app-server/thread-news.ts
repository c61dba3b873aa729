/** Notifications on their way to the window: deltas joined, long texts cut, nothing out of order. */
type Send = (method: string, params: Record<string, unknown>) => void

/** Pieces of one text within this time become one. */
const JOIN_MS = 33
/** More of one piece or member is not for a screen; the stored item has it. */
const MAX_CHARACTERS = 64 * 1024

/** Owned by the host's client; `close` drops what still waits. */
export class ThreadNews {
  private waiting: { method: string; params: Record<string, unknown> } | null = null
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly send: Send) {}

  push(method: string, params: Record<string, unknown>): void {
    const { waiting } = this
    if (waiting && waiting.method === method && isSameText(waiting.params, params)) {
      const joined = `${String(waiting.params.delta)}${String(params.delta)}`
      // The newest end is what a reader looks at.
      waiting.params = { ...params, delta: joined.slice(-MAX_CHARACTERS) }
      return
    }
    this.flush()
    if (typeof params.delta !== 'string') return this.send(method, shortened(params) as Record<string, unknown>)
    this.waiting = { method, params: { ...params, delta: params.delta.slice(-MAX_CHARACTERS) } }
    this.timer = setTimeout(() => this.flush(), JOIN_MS)
  }

  close(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    this.waiting = null
  }

  /** Sends what still waits to be joined. */
  flush(): void {
    const { waiting } = this
    this.close()
    if (waiting) this.send(waiting.method, waiting.params)
  }
}

const isSameText = (a: Record<string, unknown>, b: Record<string, unknown>): boolean =>
  typeof b.delta === 'string' &&
  a.itemId === b.itemId &&
  a.summaryIndex === b.summaryIndex &&
  a.contentIndex === b.contentIndex

/** The same value with every text of a bounded length; untouched parts are shared. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length <= MAX_CHARACTERS
      ? value
      : `${value.slice(0, MAX_CHARACTERS / 2)}\n[… ${value.length - MAX_CHARACTERS} characters are not shown …]\n${value.slice(-MAX_CHARACTERS / 2)}`
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]))
}
