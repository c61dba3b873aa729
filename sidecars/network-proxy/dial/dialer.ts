/** From judged addresses to a connection: every address is a literal, so nothing is looked up here. */
import type { ClientPresence } from '../client-presence.ts'
import { formatAuthority } from '../policy/authority.ts'
import { AttemptClock, type TimedAttempt } from './attempt-clock.ts'
import { TcpUpstream } from './tcp-upstream.ts'
import type { UpstreamSink } from './upstream-connection.ts'

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

/** Connecting to one address. */
class Attempt implements UpstreamSink {
  readonly upstream: TcpUpstream
  /** Of the first tick that saw it: most attempts are over before they cost a look at the clock. */
  sinceMs: number | undefined

  constructor(
    address: string,
    port: number,
    private readonly all: Attempts,
  ) {
    this.upstream = new TcpUpstream(address, port)
    this.upstream.sink = this
    this.upstream.socket.once('connect', () => all.connected(this))
  }

  /** Nothing can come before `connected` is heard. */
  onBytes(): void {
    this.upstream.destroy()
  }
  onEnd(): void {}
  onClose(error: NodeJS.ErrnoException | undefined): void {
    this.all.fail(this, error?.code ?? 'ECONNRESET')
  }
}

function waitedMs(attempt: Attempt, nowMs: number): number {
  attempt.sinceMs ??= nowMs
  return nowMs - attempt.sinceMs
}

const clock = new AttemptClock()

class Attempts implements TimedAttempt {
  private readonly open: Attempt[] = []
  private next = 0
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
    if (this.settled) return
    clock.add(this)
    this.attempt()
  }

  private readonly onLeave = (): void => this.settle(undefined)

  private attempt(): void {
    const address = this.addresses[this.next++]
    if (address !== undefined) this.open.push(new Attempt(address, this.port, this))
    else if (this.open.length === 0) this.settle(undefined)
  }

  tick(nowMs: number): void {
    // A failed attempt leaves the list while it is walked.
    for (const attempt of this.open.slice())
      if (waitedMs(attempt, nowMs) > this.times.connectTimeoutMs) this.fail(attempt, 'ETIMEDOUT')
    const latest = this.open.at(-1)
    if (latest && this.next < this.addresses.length && waitedMs(latest, nowMs) > this.times.attemptDelayMs)
      this.attempt()
  }

  connected({ upstream }: Attempt): void {
    this.settle(upstream)
  }

  fail(attempt: Attempt, code: string): void {
    const at = this.open.indexOf(attempt)
    if (at < 0) return
    this.open.splice(at, 1)
    attempt.upstream.destroy()
    this.failed = { address: attempt.upstream.address, code }
    this.attempt()
  }

  private failure(): DialFailed {
    if (!this.failed) return new DialFailed('ECANCELED', 'the client left before the connection was made')
    const { address, code } = this.failed
    const hop = this.port === 0 ? address : formatAuthority(address, this.port)
    return new DialFailed(code, describeFailure(hop, code))
  }

  private settle(winner: TcpUpstream | undefined): void {
    if (this.settled) return
    this.settled = true
    clock.delete(this)
    this.presence.off(this.onLeave)
    for (const { upstream } of this.open) {
      upstream.sink = undefined
      if (upstream !== winner) upstream.destroy()
    }
    this.open.length = 0
    if (winner) this.resolve(winner)
    else this.reject(this.failure())
  }
}
