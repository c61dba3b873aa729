/**
 * From a destination to a connection: verdict, question to the owner, lookup, guard and dial, in the one
 * order that leaks nothing and resolves once. Every listener goes through here.
 */
import type { TLSSocket } from 'node:tls'
import type { ClientPresence } from './client-presence.ts'
import { DEFAULT_DIAL_TIMES, DialFailed, type DialTimes } from './dial/dialer.ts'
import type { ParentProxies, ParentRoute } from './dial/parent-proxy.ts'
import { addressesWithoutLookup, ResolveFailed, resolveWithin, type Resolver } from './dial/resolver.ts'
import { Routes, tlsFailure, type Opened } from './dial/route.ts'
import { tlsHandshake, type TlsDialOptions } from './dial/tls-handshake.ts'
import type { Attribution } from './leases.ts'
import { formatAuthority } from './policy/authority.ts'
import type { ConnectionDecider } from './policy/decider.ts'
import type { Policy, Ruling } from './policy/policy.ts'
import type { Refusal } from './policy/refusal.ts'
import type { Destination } from './policy/rule-table.ts'
import type { ConnectionRecord } from './records/connection-record.ts'

/** One connection attempt of a client. */
export interface Attempt {
  destination: Destination
  attribution: Attribution
  record: ConnectionRecord
  /** When the client leaves, questions are withdrawn and dialling stops. */
  presence: ClientPresence
}

export type Admitted = { allowed: true; exempt: boolean } | { allowed: false; refusal: Refusal }
/** Judged addresses of a destination. */
export type Located = { addresses: string[] } | { refusal: Refusal }
export type Connected =
  | ({ kind: 'connected' } & Opened)
  | { kind: 'refused'; refusal: Refusal }
  /** `code` is the operating system's; `message` names the hop. */
  | { kind: 'failed'; code: string; message: string }
  /** The client left meanwhile; nothing is open. */
  | { kind: 'abandoned' }

export type Secured = { kind: 'secured'; socket: TLSSocket } | Exclude<Connected, { kind: 'connected' }>

export interface ConnectOptions {
  /** The destination is a literal that a rule names, which is not judged again. */
  exempt: boolean
  /** Speak TLS to the destination. */
  tls?: boolean
  /** From `parentFor`: the connection goes to this proxy instead, for requests in absolute form. */
  plainParent?: ParentRoute | undefined
}

export interface AdmissionOptions {
  policy: Policy
  /** Absent: nobody can be asked, so an `ask` is a refusal. */
  decider: ConnectionDecider | undefined
  resolver: Resolver
  /** Longest a lookup may take before the name counts as unresolvable. */
  lookupTimeoutMs?: number
  dialTimes?: DialTimes
  tls?: TlsDialOptions
  /** Parent proxies in force now. */
  parents?(): ParentProxies | undefined
  /** True for an address and port on which this proxy itself listens. */
  isOwnListener(address: string, port: number): boolean
}

const LOOKUP_TIMEOUT_MS = 2000
export const TLS_HANDSHAKE_TIMEOUT_MS = 10_000

export class Admission {
  private readonly routes: Routes
  private readonly tls: TlsDialOptions
  private readonly lookupTimeoutMs: number

  constructor(private readonly options: AdmissionOptions) {
    this.lookupTimeoutMs = options.lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS
    this.tls = options.tls ?? { handshakeTimeoutMs: TLS_HANDSHAKE_TIMEOUT_MS }
    this.routes = new Routes({
      resolver: options.resolver,
      lookupTimeoutMs: this.lookupTimeoutMs,
      dialTimes: options.dialTimes ?? DEFAULT_DIAL_TIMES,
      tls: this.tls,
    })
  }

  /** The verdict that needs no waiting. */
  judge(destination: Destination, attribution: Attribution): Ruling {
    return this.options.policy.judge(destination, attribution.sessionId)
  }

  /** Judges what happens inside a connection that a rule or the owner admitted: never asks again. */
  judgeAdmitted(destination: Destination, attribution: Attribution): Ruling {
    return this.options.policy.judge(destination, attribution.sessionId, true)
  }

  /** In limited mode only what can be read may pass. */
  needsInspection({ destination }: Attempt): boolean {
    return this.options.policy.mode === 'limited' && destination.protocol !== 'http'
  }

  /** The parent proxy that gets a plain request in absolute form; undefined = the origin itself. */
  parentFor({ host, port, protocol }: Destination): ParentRoute | undefined {
    return protocol === 'http' ? this.options.parents?.()?.routeFor(host, port, false) : undefined
  }

  /**
   * Makes a ruling final, asking the owner if it says so; the connection is held meanwhile. After a yes
   * the rules are read again: a deny that came meanwhile, and the guards, are stronger than the approval.
   */
  admit(attempt: Attempt, ruling: Ruling): Admitted | Promise<Admitted> {
    if (ruling.verdict === 'deny') return { allowed: false, refusal: ruling.refusal }
    if (ruling.verdict === 'allow') {
      attempt.record.allowed(ruling)
      return { allowed: true, exempt: ruling.exempt }
    }
    return this.askOwner(attempt)
  }

  private async askOwner({ destination, attribution, record, presence }: Attempt): Promise<Admitted> {
    const { decider, policy } = this.options
    if (!decider) return { allowed: false, refusal: { reason: 'not_allowed', source: 'baseline_policy' } }
    record.asked()
    const answer = await decider.ask(destination, attribution, presence)
    record.requestId = answer.requestId
    if (answer.verdict === 'deny') return { allowed: false, refusal: answer.refusal }
    const again = policy.judge(destination, attribution.sessionId, true)
    if (again.verdict === 'deny') return { allowed: false, refusal: again.refusal }
    if (again.verdict === 'ask') return { allowed: false, refusal: { reason: 'policy_denied', source: 'decider' } }
    record.allowed({ ruleId: again.ruleId ?? answer.ruleId })
    return { allowed: true, exempt: again.exempt }
  }

  /**
   * Resolves once, judges every address and dials one of exactly those. Through a parent proxy nothing is
   * resolved here: the parent does it.
   */
  async connect(attempt: Attempt, options: ConnectOptions): Promise<Connected> {
    const { destination, presence, record } = attempt
    try {
      const opened = await this.open(destination, options, presence)
      if ('refusal' in opened) return { kind: 'refused', refusal: opened.refusal }
      if (presence.left) {
        opened.upstream.destroy()
        return { kind: 'abandoned' }
      }
      record.connected(opened.upstream.address)
      return { kind: 'connected', upstream: opened.upstream, early: opened.early }
    } catch (error) {
      if (!(error instanceof DialFailed)) throw error
      return presence.left ? { kind: 'abandoned' } : { kind: 'failed', code: error.code, message: error.message }
    }
  }

  /**
   * Like `connect`, with a TLS handshake that offers `protocols`; nothing has been read from the socket.
   */
  async connectSecure(
    attempt: Attempt,
    { exempt, protocols }: { exempt: boolean; protocols: readonly string[] },
  ): Promise<Secured> {
    const connected = await this.connect(attempt, { exempt })
    if (connected.kind !== 'connected') return connected
    const { upstream } = connected
    const { host } = attempt.destination
    try {
      return { kind: 'secured', socket: await tlsHandshake(upstream, host, this.tls, protocols) }
    } catch (error) {
      const hop = formatAuthority(upstream.address, upstream.port)
      const { code, message } = tlsFailure(host, hop, error as NodeJS.ErrnoException)
      return attempt.presence.left ? { kind: 'abandoned' } : { kind: 'failed', code, message }
    }
  }

  judgeUnixSocket(path: string, method: string): Promise<Refusal | undefined> {
    return this.options.policy.judgeUnixSocket(path, method)
  }

  /** Connects to a unix socket that was judged. */
  async connectUnixSocket({ presence, record }: Attempt, path: string): Promise<Connected> {
    try {
      record.allowed({})
      return { kind: 'connected', ...(await this.routes.unixSocket(path, presence)) }
    } catch (error) {
      if (!(error instanceof DialFailed)) throw error
      return presence.left ? { kind: 'abandoned' } : { kind: 'failed', code: error.code, message: error.message }
    }
  }

  private open(
    destination: Destination,
    { exempt, tls = false, plainParent }: ConnectOptions,
    presence: ClientPresence,
  ): Promise<Opened | { refusal: Refusal }> {
    if (plainParent) return this.routes.throughParent(plainParent, destination, { tunnel: false, tls }, presence)
    const { host, port, protocol } = destination
    const parent = protocol === 'http' ? undefined : this.options.parents?.()?.routeFor(host, port, true)
    if (parent) return this.routes.throughParent(parent, destination, { tunnel: true, tls }, presence)
    const located = this.locate(destination, exempt)
    return located instanceof Promise
      ? located.then((found) => this.dial(found, destination, tls, presence))
      : this.dial(located, destination, tls, presence)
  }

  private dial(
    located: Located,
    destination: Destination,
    tls: boolean,
    presence: ClientPresence,
  ): Promise<Opened | { refusal: Refusal }> {
    if ('refusal' in located) return Promise.resolve(located)
    return this.routes.direct(located.addresses, destination, tls, presence)
  }

  /** The addresses that may be dialled for an admitted destination, at least one. At once when no name is asked for. */
  locate(destination: Destination, exempt: boolean): Located | Promise<Located> {
    const known = addressesWithoutLookup(destination.host)
    if (known) return this.unlessOwn(destination.port, known)
    return this.resolve(destination.host, exempt).then((resolved) =>
      'refusal' in resolved ? resolved : this.unlessOwn(destination.port, resolved.addresses),
    )
  }

  private unlessOwn(port: number, addresses: string[]): Located {
    if (!addresses.some((address) => this.options.isOwnListener(address, port))) return { addresses }
    return { refusal: { reason: 'proxy_loop', source: 'proxy_state' } }
  }

  private async resolve(host: string, exempt: boolean): Promise<Located> {
    try {
      const addresses = await resolveWithin(this.options.resolver, host, this.lookupTimeoutMs)
      const refusal = exempt ? undefined : this.options.policy.judgeAddresses(addresses)
      return refusal ? { refusal } : { addresses }
    } catch (error) {
      if (!(error instanceof ResolveFailed)) throw error
      return { refusal: { reason: 'dns_failed', source: 'baseline_policy', detail: error.message } }
    }
  }
}
