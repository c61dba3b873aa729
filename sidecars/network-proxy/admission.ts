/**
 * From a destination to a connection: verdict, question to the owner, lookup, guard and dial, in the one
 * order that leaks nothing and resolves once. Every listener goes through here.
 */
import { DEFAULT_DIAL_TIMES, dial, DialFailed, type DialTimes } from './dial/dialer.ts'
import { ResolveFailed, resolveWithin, type Resolver } from './dial/resolver.ts'
import { TlsUpstream, type TlsDialOptions } from './dial/tls-upstream.ts'
import type { UpstreamConnection } from './dial/upstream-connection.ts'
import type { Attribution } from './leases.ts'
import { isLocalhostName } from './policy/address-guard.ts'
import { isAddress } from './policy/canonical-host.ts'
import type { Decider } from './policy/decider.ts'
import type { Policy, Ruling } from './policy/policy.ts'
import type { Refusal } from './policy/refusal.ts'
import type { Destination } from './policy/rule-table.ts'
import type { ConnectionRecord } from './records/connection-record.ts'

/** One connection attempt of a client. */
export interface Attempt {
  destination: Destination
  attribution: Attribution
  record: ConnectionRecord
  /** Fires when the client has gone: questions are withdrawn and dialling stops. */
  signal: AbortSignal
}

export type Admitted = { allowed: true; exempt: boolean } | { allowed: false; refusal: Refusal }
export type Connected =
  | { kind: 'connected'; upstream: UpstreamConnection }
  | { kind: 'refused'; refusal: Refusal }
  /** `code` is the operating system's; `message` names the hop. */
  | { kind: 'failed'; code: string; message: string }
  /** The client left meanwhile; nothing is open. */
  | { kind: 'abandoned' }

export interface AdmissionOptions {
  policy: Policy
  /** Absent: nobody can be asked, so an `ask` is a refusal. */
  decider: Decider | undefined
  resolver: Resolver
  /** Longest a lookup may take before the name counts as unresolvable. */
  lookupTimeoutMs?: number
  dialTimes?: DialTimes
  tls?: TlsDialOptions
  /** True for an address and port on which this proxy itself listens. */
  isOwnListener(address: string, port: number): boolean
}

const LOOKUP_TIMEOUT_MS = 2000
const TLS_HANDSHAKE_TIMEOUT_MS = 10_000

export class Admission {
  constructor(private readonly options: AdmissionOptions) {}

  /** The verdict that needs no waiting. */
  judge(destination: Destination, attribution: Attribution): Ruling {
    return this.options.policy.judge(destination, attribution.sessionId)
  }

  /** In limited mode only what can be read may pass. */
  needsInspection({ destination }: Attempt): boolean {
    return this.options.policy.mode === 'limited' && destination.protocol !== 'http'
  }

  /**
   * Makes a ruling final, asking the owner if it says so; the connection is held meanwhile. After a yes
   * the rules are read again: a deny that came meanwhile, and the guards, are stronger than the approval.
   */
  async admit({ destination, attribution, record, signal }: Attempt, ruling: Ruling): Promise<Admitted> {
    if (ruling.verdict === 'deny') return { allowed: false, refusal: ruling.refusal }
    if (ruling.verdict === 'allow') {
      record.allowed(ruling)
      return { allowed: true, exempt: ruling.exempt }
    }
    const { decider, policy } = this.options
    if (!decider) return { allowed: false, refusal: { reason: 'not_allowed', source: 'baseline_policy' } }
    record.asked()
    const answer = await decider.ask(destination, attribution, signal)
    record.requestId = answer.requestId
    if (answer.verdict === 'deny') return { allowed: false, refusal: answer.refusal }
    const again = policy.judge(destination, attribution.sessionId, true)
    if (again.verdict === 'deny') return { allowed: false, refusal: again.refusal }
    if (again.verdict === 'ask') return { allowed: false, refusal: { reason: 'policy_denied', source: 'decider' } }
    record.allowed({ ruleId: again.ruleId ?? answer.ruleId })
    return { allowed: true, exempt: again.exempt }
  }

  /**
   * Resolves once, judges every address and dials one of exactly those. `exempt`: the destination is a
   * literal that a rule names, which is not judged again. With `tls` the connection speaks TLS to the host.
   */
  async connect(attempt: Attempt, exempt: boolean, tls = false): Promise<Connected> {
    const { host, port } = attempt.destination
    const resolved = await this.resolve(host, exempt)
    if ('refusal' in resolved) return { kind: 'refused', refusal: resolved.refusal }
    if (resolved.addresses.some((address) => this.options.isOwnListener(address, port)))
      return { kind: 'refused', refusal: { reason: 'proxy_loop', source: 'proxy_state' } }
    if (attempt.signal.aborted) return { kind: 'abandoned' }
    let upstream: UpstreamConnection
    try {
      upstream = await dial(resolved.addresses, port, attempt.signal, this.options.dialTimes ?? DEFAULT_DIAL_TIMES)
      if (tls) upstream = await this.secure(upstream, host)
    } catch (error) {
      if (!(error instanceof DialFailed)) throw error
      return attempt.signal.aborted
        ? { kind: 'abandoned' }
        : { kind: 'failed', code: error.code, message: error.message }
    }
    if (attempt.signal.aborted) {
      upstream.destroy()
      return { kind: 'abandoned' }
    }
    attempt.record.connected(upstream.address)
    return { kind: 'connected', upstream }
  }

  private async resolve(host: string, exempt: boolean): Promise<{ addresses: string[] } | { refusal: Refusal }> {
    if (isAddress(host)) return { addresses: [host] }
    if (isLocalhostName(host)) return { addresses: ['127.0.0.1', '::1'] }
    const { resolver, lookupTimeoutMs, policy } = this.options
    try {
      const addresses = await resolveWithin(resolver, host, lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS)
      const refusal = exempt ? undefined : policy.judgeAddresses(addresses)
      return refusal ? { refusal } : { addresses }
    } catch (error) {
      if (!(error instanceof ResolveFailed)) throw error
      return { refusal: { reason: 'dns_failed', source: 'baseline_policy', detail: error.message } }
    }
  }

  private async secure(raw: UpstreamConnection, host: string): Promise<UpstreamConnection> {
    const { address, port } = raw
    raw.sink = undefined
    try {
      const options = this.options.tls ?? { handshakeTimeoutMs: TLS_HANDSHAKE_TIMEOUT_MS }
      return await TlsUpstream.open(raw.socket, { address, port, host }, options)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      throw new DialFailed(code ?? 'ETLS', `TLS with ${host}:${port} failed: ${message}`)
    }
  }
}
