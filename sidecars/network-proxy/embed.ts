/**
 * The network proxy inside another program of the house: one for one process, with rules of its own and
 * somebody of its own to ask. The only part of this folder that others may import.
 */
import type { Verdict } from '../protocol/decision.ts'
import type { NetworkRule } from '../protocol/host-channel.ts'
import { InvalidPattern, parseRulePattern } from '../protocol/host-pattern.ts'
import type { RuleId } from '../protocol/ids.ts'
import type { NetworkProtocol } from '../protocol/subject.ts'
import { ConfigError } from './config/config-error.ts'
import { NO_INSPECTION } from './inspection/inspection-settings.ts'
import { loadRequirements } from './managed/requirements.ts'
import { OutsideDecider, type AskOutside } from './policy/outside-decider.ts'
import { InvalidRule } from './policy/rule-table.ts'
import { NetworkProxy } from './proxy.ts'
import type { Decided } from './records/connection-log.ts'

export type { AskOutside, OutsideAnswer, OutsideQuestion } from './policy/outside-decider.ts'

export interface EmbeddedProxyOptions {
  mode: 'full' | 'limited'
  socks: boolean
  socksUdp: boolean
  allowLocalBinding: boolean
  /** The variables say that connections of the process are redirected to it. */
  transparentTcp?: boolean
  /** Proxies that `environment` names may be used on the way out. */
  allowUpstreamProxy: boolean
  unixSockets: { allowAll: boolean; paths: Record<string, Verdict> }
  /** Patterns as rules have them. */
  domains: Readonly<Record<string, Verdict>>
  /** Hosts that are asked about although `domains` allows them. */
  review: readonly string[]
  /** Absent: what `domains` does not allow is refused. */
  ask?: AskOutside
  /** Called for every verdict, with what was decided. */
  onDecision(decision: HostDecision): void
  /**
   * URL of a proxy through which everything has to leave, whatever else is set: its rules come on top. What
   * it cannot carry (UDP, unix sockets) is then off.
   */
  throughProxy?: string | undefined
  /** Where proxies and certificates are named. */
  environment: Record<string, string | undefined>
}

/** One verdict, in the words of audits. */
export interface HostDecision {
  atMs: number
  /** `non_domain`: not about the host but about mode or state. */
  scope: 'domain' | 'non_domain'
  decision: 'allow' | 'deny' | 'ask'
  source: 'baseline_policy' | 'mode_guard' | 'proxy_state' | 'decider'
  reason: string
  protocol: NetworkProtocol
  host: string
  port: number
  method: string | undefined
  /** `address:port` of the client. */
  client: string | undefined
  /** The domains alone would not have allowed it; who was asked did. */
  isOverride: boolean
}

/** Settings that no proxy can run with; `field` is the member of the options. */
export class UnusableProxySettings extends Error {
  constructor(
    readonly field: string,
    problem: string,
  ) {
    super(`${field}: ${problem}`)
    this.name = 'UnusableProxySettings'
  }
}

export interface EmbeddedProxy {
  /** Variables that lead a program through the proxy. `changes`: what was set for it, or with null removed. */
  environment(changes: Record<string, string | null>): Record<string, string>
  /** Things that do not work or had to give way, one sentence each. */
  readonly warnings: readonly string[]
  /** Ends it and every connection. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a proxy on free loopback ports. What the administrator of this machine demands holds for it, too.
 * @throws UnusableProxySettings, or an error of the operating system
 */
export async function openEmbeddedProxy(options: EmbeddedProxyOptions): Promise<EmbeddedProxy> {
  const { ask, throughProxy } = options
  const required = await requirements()
  const loopback = { host: '127.0.0.1', port: 0 }
  const isAlone = throughProxy === undefined
  const proxy = await NetworkProxy.start(
    {
      enabled: true,
      http: loopback,
      socks: options.socks ? loopback : undefined,
      socksUdp: options.socksUdp && isAlone,
      portFallback: true,
      allowNonLoopback: false,
      allowUpstreamProxy: options.allowUpstreamProxy,
      mode: options.mode,
      allowLocalBinding: options.allowLocalBinding,
      transparentTcp: options.transparentTcp ?? false,
      unknownHost: ask ? 'ask' : 'block',
      limitedAllowsWebsocket: false,
      unixSockets: isAlone ? options.unixSockets : { allowAll: false, paths: {} },
      review: options.review.map(reviewed),
      askTimeoutMs: 0,
      inspection: NO_INSPECTION,
    },
    { revision: 1, rules: rulesOf(options.domains) },
    {
      ...(ask && { decider: new OutsideDecider(ask) }),
      onDecision: (decided) => options.onDecision(described(decided)),
      environment: options.environment,
      throughProxy,
      withoutSelfTest: true,
      // Ports of a demand are those of the machine's own proxy.
      requirements: required && { ...required, httpPort: undefined, socksPort: undefined },
    },
  ).catch((error: unknown) => {
    if (error instanceof InvalidRule) throw new UnusableProxySettings('domains', error.message.replace(/^[^:]*: /, ''))
    throw error
  })
  if (proxy.httpUrl === undefined) {
    await proxy.close(0)
    throw new UnusableProxySettings('enabled', 'the administrator of this machine does not allow a network proxy')
  }
  return {
    environment: (changes) => proxy.environmentFor(changes),
    warnings: proxy.warnings,
    close: () => proxy.close(0),
  }
}

async function requirements(): ReturnType<typeof loadRequirements> {
  try {
    return await loadRequirements()
  } catch (error) {
    if (error instanceof ConfigError) throw new UnusableProxySettings('enabled', error.message)
    throw error
  }
}

function rulesOf(domains: Readonly<Record<string, Verdict>>): NetworkRule[] {
  return Object.entries(domains).map(([pattern, verdict], index) => ({
    id: `rul_${index}` as RuleId,
    pattern,
    verdict,
    scope: 'always',
  }))
}

function reviewed(text: string): ReturnType<typeof parseRulePattern> {
  try {
    return parseRulePattern(text, 'allow')
  } catch (error) {
    if (error instanceof InvalidPattern) throw new UnusableProxySettings('review', error.message)
    throw error
  }
}

function described({ record, destination, refusal, wasAsked }: Decided): HostDecision {
  const { host, port, protocol, method } = destination
  const common = { atMs: Date.now(), protocol, host, port, method, client: record.clientAddress() }
  if (!refusal) {
    return {
      ...common,
      scope: 'domain',
      decision: 'allow',
      source: wasAsked ? 'decider' : 'baseline_policy',
      reason: wasAsked ? 'not_allowed' : 'allow',
      isOverride: wasAsked,
    }
  }
  const { source, told } = refusal
  return {
    ...common,
    scope: source === 'mode_guard' || source === 'proxy_state' ? 'non_domain' : 'domain',
    decision: told?.decision ?? 'deny',
    source,
    reason: told?.reason ?? refusal.reason,
    isOverride: false,
  }
}
