/** From judged addresses to a connection: every address is a literal, so nothing is looked up here. */
import type { ClientPresence } from '../client-presence.ts'
import { formatAuthority } from '../policy/authority.ts'
import { TcpUpstream } from './tcp-upstream.ts'

const LOOPBACK = /^127\.|^::1$/

/** No connection; `code` is the operating system's, or ETIMEDOUT. `message` names the hop that failed. */
export class DialFailed extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message)
    this.name = 'DialFailed'
  }
}

export interface DialTimes {
  /** Limit per address. */
  connectTimeoutMs: number
  /** Head start of an address before the next one is tried beside it (RFC 8305 recommends 250 ms). */
  attemptDelayMs: number
}
export const DEFAULT_DIAL_TIMES: DialTimes = { connectTimeoutMs: 10_000, attemptDelayMs: 250 }

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'is on a network that cannot be reached',
  ETIMEDOUT: 'did not answer in time',
}

/** A sentence about a failed hop, such as "127.0.0.1:9 refused the connection". */
export function describeFailure(hop: string, code: string): string {
  return `${hop} ${WORDS[code] ?? `failed with ${code}`}`
}

/**
 * Connects to the first address that answers (with port 0: to the unix socket at that path). Attempts start one after the other, each with a head
 * start; the losers are destroyed. A client that leaves ends all of them.
 * @throws DialFailed with the last failure
 */
export function dial(
  addresses: readonly string[],
  port: number,
  presence: ClientPresence,
  times: DialTimes = DEFAULT_DIAL_TIMES,
): Promise<TcpUpstream> {
  return new Promise((resolve, reject) => new Attempts(addresses, port, presence, times, resolve, reject).start())
}

class Attempts {
  /** Attempts under way, each with its own limit. */
  private readonly open = new Map<TcpUpstream, NodeJS.Timeout>()
  private next = 0
  private timer: NodeJS.Timeout | undefined
  /** The last attempt that failed. Errors are made when they are thrown: taking a stack costs a connection. */
  private failed: { address: string; code: string } | undefined
  private settled = false

  constructor(
    private readonly addresses: readonly string[],
    private readonly port: number,
    private readonly presence: ClientPresence,
    private readonly times: DialTimes,
    private readonly resolve: (upstream: TcpUpstream) => void,
    private readonly reject: (error: DialFailed) => void,
  ) {}

  start(): void {
    this.presence.onLeave(this.onLeave)
    if (!this.settled) this.attempt()
  }

  private readonly onLeave = (): void => this.settle(undefined)

  private attempt(): void {
    clearTimeout(this.timer)
    const address = this.addresses[this.next++]
    if (address === undefined) {
      if (this.open.size === 0) this.settle(undefined)
      return
    }
    const upstream = new TcpUpstream(address, this.port)
    this.open.set(
      upstream,
      setTimeout(() => this.fail(upstream, 'ETIMEDOUT'), this.times.connectTimeoutMs),
    )
    upstream.sink = {
      onBytes: () => upstream.destroy(),
      onEnd() {},
      onClose: (error) => this.fail(upstream, (error as NodeJS.ErrnoException | undefined)?.code ?? 'ECONNRESET'),
    }
    upstream.socket.once('connect', () => this.settle(upstream))
    // This machine answers at once or not at all: there a failure starts the next attempt.
    if (this.next < this.addresses.length && !LOOPBACK.test(address))
      this.timer = setTimeout(() => this.attempt(), this.times.attemptDelayMs)
  }

  private fail(upstream: TcpUpstream, code: string): void {
    const limit = this.open.get(upstream)
    if (limit === undefined) return
    clearTimeout(limit)
    this.open.delete(upstream)
    upstream.destroy()
    this.failed = { address: upstream.address, code }
    this.attempt()
  }

  private failure(): DialFailed {
    if (!this.failed) return new DialFailed('ECANCELED', 'the client left before the connection was made')
    const { address, code } = this.failed
    return new DialFailed(code, describeFailure(this.hop(address), code))
  }

  private hop(address: string): string {
    return this.port === 0 ? address : formatAuthority(address, this.port)
  }

  private settle(winner: TcpUpstream | undefined): void {
    if (this.settled) return
    this.settled = true
    clearTimeout(this.timer)
    this.presence.off(this.onLeave)
    for (const [upstream, limit] of this.open) {
      clearTimeout(limit)
      upstream.sink = undefined
      if (upstream !== winner) upstream.destroy()
    }
    this.open.clear()
    if (winner) this.resolve(winner)
    else this.reject(this.failure())
  }
}
