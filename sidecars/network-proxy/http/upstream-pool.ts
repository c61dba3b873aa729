/** Origin connections between requests. Each stays bound to the address that was judged when it was dialled. */
import type { UpstreamConnection, UpstreamSink } from '../dial/upstream-connection.ts'

/** Connections of one origin kept idle; more than browsers use, enough for a busy agent. */
const MAX_IDLE_PER_ORIGIN = 64
const MAX_IDLE = 512
/** Servers commonly close after 5 s; going first avoids most races with them. */
const IDLE_LIMIT_MS = 4000
const SWEEP_EVERY_MS = 1000

/** What requests must share to share connections. */
export function poolKey(
  { host, port, tls }: { host: string; port: number; tls: boolean },
  parent: { host: string; port: number } | undefined,
): string {
  return parent ? `parent:${parent.host}:${parent.port}` : `${tls ? 'https' : 'http'}:${host}:${port}`
}

/** An idle connection. Whatever it says, it is finished: a 408, bytes out of step, or its end. */
class Idle implements UpstreamSink {
  constructor(
    private readonly pool: UpstreamPool,
    readonly key: string,
    readonly upstream: UpstreamConnection,
    /** The client connection that used it last. */
    readonly user: object,
    readonly bound: boolean,
    readonly sinceMs: number,
  ) {
    upstream.sink = this
  }

  onBytes(): void {
    this.pool.drop(this)
  }
  onEnd(): void {
    this.pool.drop(this)
  }
  onClose(): void {
    this.pool.drop(this)
  }
}

export class UpstreamPool {
  private readonly idle = new Map<string, Idle[]>()
  private count = 0
  private readonly timer: NodeJS.Timeout

  constructor(private readonly nowMs: () => number = Date.now) {
    this.timer = setInterval(() => this.sweep(), SWEEP_EVERY_MS)
    this.timer.unref()
  }

  /**
   * An idle connection to the origin `key`: one that `user` itself used last, else the most recent one. A
   * request that must not be sent twice only gets one of its own: its failure is then the one the client
   * would have seen without a proxy.
   */
  take(key: string, user: object, replayable: boolean): UpstreamConnection | undefined {
    const list = this.idle.get(key)
    if (list === undefined) return undefined
    return this.takeLast(list, user) ?? (replayable ? this.takeLast(list, undefined) : undefined)
  }

  /** The most recent one of `user`, or with undefined the most recent one that is not bound to anybody. */
  private takeLast(list: Idle[], user: object | undefined): UpstreamConnection | undefined {
    for (let at = list.length - 1; at >= 0; at--) {
      const { upstream, bound, user: owner } = list[at]!
      if (user === undefined ? bound : owner !== user) continue
      removeAt(list, at)
      this.count--
      upstream.sink = undefined
      if (!upstream.socket.destroyed && upstream.socket.writable) return upstream
    }
    return undefined
  }

  /** Takes a connection whose last exchange ended cleanly. A `bound` one is for the same user alone. */
  put(key: string, upstream: UpstreamConnection, user: object, bound: boolean): void {
    let list = this.idle.get(key)
    if (list === undefined) this.idle.set(key, (list = []))
    if (list.length >= MAX_IDLE_PER_ORIGIN || this.count >= MAX_IDLE) return upstream.destroy()
    list.push(new Idle(this, key, upstream, user, bound, this.nowMs()))
    this.count++
  }

  private sweep(): void {
    const before = this.nowMs() - IDLE_LIMIT_MS
    for (const [key, list] of this.idle) {
      for (const entry of Array.from(list)) if (entry.sinceMs < before) this.drop(entry)
      if (list.length === 0) this.idle.delete(key)
    }
  }

  /** Closes one and forgets it; one that was taken meanwhile is left alone. */
  drop(entry: Idle): void {
    const list = this.idle.get(entry.key)
    const at = list?.indexOf(entry) ?? -1
    if (!list || at < 0) return
    removeAt(list, at)
    this.count--
    entry.upstream.sink = undefined
    entry.upstream.destroy()
  }

  /** Connections kept now. */
  get size(): number {
    return this.count
  }

  /** Closes everything that is idle. */
  close(): void {
    clearInterval(this.timer)
    for (const list of this.idle.values()) for (const entry of Array.from(list)) this.drop(entry)
  }
}

function removeAt(list: Idle[], at: number): void {
  if (at === list.length - 1) list.pop()
  else list.splice(at, 1)
}
