import { formatHostPattern, patternNames, patternsOverlap } from '../protocol/host-pattern.ts'
import type { NetworkRule } from '../protocol/host-channel.ts'
import type { SessionId } from '../protocol/ids.ts'
import type { ConnectionSubject } from '../protocol/subject.ts'
import { judgementOf, ruleCause, ruleName, type JudgedStep, type Judgement } from './judgement.ts'
import { stricter, type HostRule } from './rule.ts'

type Destination = Pick<ConnectionSubject, 'host' | 'port' | 'protocol'>

/**
 * Whether a connection may be made. Only host, port, protocol and session count, never how often or by
 * whom it was asked before; deny wins over ask, ask over allow, however exact either is.
 */
export function judgeConnection(to: Destination, sessionId: SessionId, rules: readonly HostRule[]): Judgement {
  const about = `${to.host}:${to.port}`
  const matched = rules.filter((rule) => matchesConnection(rule, to, sessionId))
  const rule = matched.reduce<HostRule | undefined>(
    (best, next) => (!best || stricter(next.effect, best.effect) !== best.effect ? next : best),
    undefined,
  )
  const step: JudgedStep = rule
    ? { effect: rule.effect, about, because: ruleCause(rule), cause: 'rule', rule, ruleId: rule.id }
    : { effect: 'ask', about, because: 'no rule names this host', cause: 'open', ...nearly(to, sessionId, rules) }
  return judgementOf([step])
}

/** Whether a rule speaks of this connection. */
export function matchesConnection(rule: HostRule, to: Destination, sessionId: SessionId): boolean {
  return (
    patternNames(rule.host, to.host, rule.effect) &&
    (rule.port === undefined || rule.port === to.port) &&
    (rule.protocol === undefined || rule.protocol === to.protocol) &&
    (rule.sessionId === undefined || rule.sessionId === sessionId)
  )
}

function nearly(to: Destination, sessionId: SessionId, rules: readonly HostRule[]): { nearly?: string } {
  const rule = rules.find((candidate) => candidate.effect === 'allow' && patternNames(candidate.host, to.host, 'allow'))
  if (!rule) return {}
  const missing =
    rule.sessionId !== undefined && rule.sessionId !== sessionId
      ? 'it is for another session'
      : rule.port !== undefined && rule.port !== to.port
        ? `the port is ${to.port}`
        : `the protocol is ${to.protocol}`
  return { nearly: `${ruleName(rule)}, but ${missing}` }
}

export interface ProxyRules {
  rules: NetworkRule[]
  /** Allow rules that the proxy does not get, with the rule that asks about some of their hosts. */
  heldBack: Map<HostRule, HostRule>
}

/**
 * Rules as the proxy takes them. It knows allow and deny only, so an allow rule that shares hosts with a
 * rule that asks is held back: the proxy then asks the host about all of them, which judges exactly.
 */
export function rulesForProxy(rules: readonly HostRule[]): ProxyRules {
  const asking = rules.filter((rule) => rule.effect === 'ask')
  const heldBack = new Map<HostRule, HostRule>()
  const out: NetworkRule[] = []
  for (const rule of rules) {
    if (rule.effect === 'ask') continue
    const cause = rule.effect === 'allow' ? asking.find((other) => overlaps(rule, other)) : undefined
    if (cause) heldBack.set(rule, cause)
    else out.push(networkRuleOf(rule, rule.effect))
  }
  return { rules: out, heldBack }
}

function overlaps(a: HostRule, b: HostRule): boolean {
  const mayBeSame = <T>(x: T | undefined, y: T | undefined) => x === undefined || y === undefined || x === y
  return (
    patternsOverlap(a.host, b.host) &&
    mayBeSame(a.port, b.port) &&
    mayBeSame(a.protocol, b.protocol) &&
    mayBeSame(a.sessionId, b.sessionId)
  )
}

function networkRuleOf(rule: HostRule, verdict: 'allow' | 'deny'): NetworkRule {
  const out: NetworkRule = {
    id: rule.id,
    pattern: formatHostPattern(rule.host),
    verdict,
    scope: rule.sessionId === undefined ? 'always' : 'session',
  }
  if (rule.port !== undefined) out.port = rule.port
  if (rule.protocol !== undefined) out.protocol = rule.protocol
  if (rule.sessionId !== undefined) out.sessionId = rule.sessionId
  return out
}
