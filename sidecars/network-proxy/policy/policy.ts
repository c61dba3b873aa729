/**
 * The verdict on a destination. It depends on host, port, protocol, method, rules and settings only;
 * never on the client's socket or on an earlier verdict. Order: switched off > mode > deny rule >
 * local guard > allow rule > approval > ask or refuse.
 */
import type { NetworkRule } from '../../protocol/host-channel.ts'
import { isIpLiteral, patternNames, type RulePattern } from '../../protocol/host-pattern.ts'
import type { RuleId, SessionId } from '../../protocol/ids.ts'
import { classifyAddress, isLocalhostName, type AddressClass, type OwnAddresses } from './address-guard.ts'
import type { Refusal, RefusalReason, RefusalSource } from './refusal.ts'
import { RuleTable, type Destination } from './rule-table.ts'
import { judgeUnixSocket, UNIX_SOCKET_HOST, type UnixSocketSettings } from './unix-socket.ts'

export interface PolicySettings {
  enabled: boolean
  mode: 'full' | 'limited'
  allowLocalBinding: boolean
  /** What happens to a host that no rule names. */
  unknownHost: 'ask' | 'block'
  /** Limited mode only: whether a WebSocket, whose frames are writes, may be opened. */
  limitedAllowsWebsocket: boolean
  unixSockets: UnixSocketSettings
  /** Hosts that the owner is asked about although a rule allows them. */
  review?: readonly RulePattern[]
}

export type Denial = { verdict: 'deny'; refusal: Refusal }
export type Ruling =
  | {
      verdict: 'allow'
      ruleId: RuleId | undefined
      /** A rule names this very literal, so the address guard does not apply to it. */
      exempt: boolean
    }
  | Denial
  | { verdict: 'ask' }

const READ_ONLY_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_CACHED_RULINGS = 4096

export class Policy {
  private table: RuleTable
  private readonly rulings = new Map<string, Ruling>()
  /** The one asked for last: requests come in runs to one host. */
  private last: { destination: Destination; sessionId: SessionId | undefined; ruling: Ruling } | undefined
  private settings: PolicySettings

  constructor(
    settings: PolicySettings,
    private readonly ownAddresses: OwnAddresses,
    table: RuleTable = new RuleTable(0, []),
    private readonly platform: NodeJS.Platform = process.platform,
  ) {
    this.settings = settings
    this.table = table
  }

  /** Replaces the rules; the next judgement already obeys. @throws InvalidRule and keeps the old rules */
  setRules(revision: number, rules: readonly NetworkRule[]): void {
    this.table = new RuleTable(revision, rules)
    this.forget()
  }

  configure(settings: PolicySettings): void {
    this.settings = settings
    this.forget()
  }

  private forget(): void {
    this.rulings.clear()
    this.last = undefined
  }

  get revision(): number {
    return this.table.revision
  }

  get mode(): 'full' | 'limited' {
    return this.settings.mode
  }

  /** Judges without any lookup. `approved`: the owner already said yes to this very request. */
  judge(destination: Destination, sessionId: SessionId | undefined, approved = false): Ruling {
    if (approved) return this.compute(destination, sessionId, approved)
    const { last } = this
    if (last && last.sessionId === sessionId && isSame(last.destination, destination)) return last.ruling
    const method = this.settings.mode === 'limited' ? destination.method : ''
    const key = `${destination.host} ${destination.port} ${destination.protocol} ${method} ${sessionId ?? ''}`
    let ruling = this.rulings.get(key)
    if (ruling === undefined) {
      ruling = this.compute(destination, sessionId, false)
      // What an address is can change with this machine's interfaces; a rule that denies it does not care.
      if (isIpLiteral(destination.host) && !isDenied(ruling)) return ruling
      if (this.rulings.size >= MAX_CACHED_RULINGS) this.rulings.clear()
      this.rulings.set(key, ruling)
    }
    this.last = { destination, sessionId, ruling }
    return ruling
  }

  private compute(destination: Destination, sessionId: SessionId | undefined, approved: boolean): Ruling {
    if (!this.settings.enabled) return deny('proxy_disabled', 'proxy_state')
    const blocked = this.modeRefusal(destination)
    if (blocked) return blocked
    const match = this.table.match(destination, sessionId)
    if (match.deny) return deny('denied', 'baseline_policy', { ruleId: match.deny.id })
    const kind = this.literalClass(destination.host)
    if (kind !== 'public' && this.guards(kind)) {
      if (!match.allowsExactly) return deny('not_allowed_local', 'baseline_policy', { detail: kind })
      if (!approved && this.needsReview(destination)) return { verdict: 'ask' }
      return { verdict: 'allow', ruleId: match.allow?.id, exempt: true }
    }
    if (match.allow && !approved && this.needsReview(destination)) return { verdict: 'ask' }
    if (match.allow) return { verdict: 'allow', ruleId: match.allow.id, exempt: false }
    if (approved) return { verdict: 'allow', ruleId: undefined, exempt: false }
    return this.settings.unknownHost === 'ask' ? { verdict: 'ask' } : deny('not_allowed', 'baseline_policy')
  }

  /** Judges a request to a local unix socket. */
  async judgeUnixSocket(path: string, method: string): Promise<Refusal | undefined> {
    const blocked = this.modeRefusal({ host: UNIX_SOCKET_HOST, port: 0, protocol: 'http', method })
    return blocked?.refusal ?? judgeUnixSocket(path, this.settings.unixSockets, this.platform)
  }

  /** The cheap guard that comes before anybody is asked. */
  private modeRefusal({ protocol, method, port }: Destination): Denial | undefined {
    if (this.settings.mode === 'full') return undefined
    const refused = deny('method_not_allowed', 'mode_guard')
    switch (protocol) {
      case 'http':
        return READ_ONLY_METHODS.has(method ?? '') ? undefined : refused
      case 'websocket':
        return this.settings.limitedAllowsWebsocket ? undefined : refused
      case 'socks5Tcp':
        return port === 443 ? undefined : refused
      case 'socks5Udp':
        return refused
      case 'https':
        return method === undefined || method === 'CONNECT' || READ_ONLY_METHODS.has(method) ? undefined : refused
    }
  }

  private needsReview({ host, port }: Destination): boolean {
    const { review = [] } = this.settings
    return review.some(
      (pattern) => patternNames(pattern, host, 'allow') && (pattern.port === undefined || pattern.port === port),
    )
  }

  private literalClass(host: string): AddressClass {
    if (isLocalhostName(host)) return 'loopback'
    return isIpLiteral(host) ? classifyAddress(host, this.ownAddresses) : 'public'
  }

  private guards(kind: AddressClass): boolean {
    return kind === 'metadata service' || !this.settings.allowLocalBinding
  }

  /**
   * Judges what a name resolved to. One address outside the public internet spoils them all: the name
   * is then under the control of somebody who points into this machine or its network.
   */
  judgeAddresses(addresses: readonly string[]): Refusal | undefined {
    for (const address of addresses) {
      const kind = classifyAddress(address, this.ownAddresses)
      if (kind !== 'public' && this.guards(kind))
        return {
          reason: 'not_allowed_local',
          source: 'baseline_policy',
          detail: `the name resolved to a ${kind} address`,
        }
    }
    return undefined
  }
}

function isSame(a: Destination, b: Destination): boolean {
  return a.host === b.host && a.port === b.port && a.protocol === b.protocol && a.method === b.method
}

function isDenied(ruling: Ruling): boolean {
  return ruling.verdict === 'deny' && ruling.refusal.reason === 'denied'
}

function deny(reason: RefusalReason, source: RefusalSource, more: Partial<Refusal> = {}): Denial {
  return { verdict: 'deny', refusal: { reason, source, ...more } }
}
