/** What the window tried and was refused: a foreign address, a new window, a permission, a bad message. */
export interface Refusal {
  what:
    | 'navigation'
    | 'new-window'
    | 'permission'
    | 'download'
    | 'request'
    | 'webview'
    | 'foreign-sender'
    | 'bad-arguments'
  detail: string
  atMs: number
}

const KEPT = 200
/** A page gone wild must not fill the journal: beyond this many a minute they are only counted. */
const RECORDED_PER_MINUTE = 60

/** The last refusals, each also handed to `record` (the audit journal) within bounds. */
export class Refusals {
  private readonly kept: Refusal[] = []
  private windowStartMs = 0
  private inWindow = 0

  constructor(private readonly record: (refusal: Refusal) => void) {}

  add(what: Refusal['what'], detail: string, nowMs = Date.now()): void {
    const refusal = { what, detail: detail.slice(0, 500), atMs: nowMs }
    this.kept.push(refusal)
    if (this.kept.length > KEPT) this.kept.shift()
    if (nowMs - this.windowStartMs >= 60_000) {
      this.windowStartMs = nowMs
      this.inWindow = 0
    }
    if (++this.inWindow <= RECORDED_PER_MINUTE) this.record(refusal)
  }

  list(): readonly Refusal[] {
    return this.kept
  }
}
