/** Network rules compiled for lookup: a match costs one map probe per label, however many rules exist. */
import type { NetworkRule } from '../../protocol/host-channel.ts'
import type { SessionId } from '../../protocol/ids.ts'
import type { NetworkProtocol } from '../../protocol/subject.ts'
import { InvalidPattern, parseRulePattern, patternNames, type RulePattern } from '../../protocol/host-pattern.ts'

/** What a rule is compared with. `host` is canonical. */
export interface Destination {
  host: string
  port: number
  protocol: NetworkProtocol
  method?: string
}

export interface CompiledRule {
  rule: NetworkRule
  pattern: RulePattern
}

export interface RuleMatch {
  /** The most specific deny rule that matches. */
  deny: NetworkRule | undefined
  /** The most specific allow rule that matches. */
  allow: NetworkRule | undefined
  /** An allow rule names exactly this host: what a local or private literal needs. */
  allowsExactly: boolean
}

/** A rule that cannot be used: which one, and why. */
export class InvalidRule extends Error {
  constructor(
    readonly index: number,
    problem: string,
  ) {
    super(`rules[${index}].pattern: ${problem}`)
    this.name = 'InvalidRule'
  }
}

export class RuleTable {
  private readonly exact = new Map<string, CompiledRule[]>()
  private readonly suffix = new Map<string, CompiledRule[]>()
  private readonly wildcard: CompiledRule[] = []
  private readonly any: CompiledRule[] = []

  /** @throws InvalidRule when one pattern is unusable: a table is taken whole or not at all */
  constructor(
    readonly revision: number,
    rules: readonly NetworkRule[],
  ) {
    for (const [index, rule] of rules.entries()) this.add(index, rule)
  }

  private add(index: number, rule: NetworkRule): void {
    let pattern: RulePattern
    try {
      pattern = parseRulePattern(rule.pattern, rule.verdict, rule.port)
    } catch (error) {
      if (error instanceof InvalidPattern) throw new InvalidRule(index, error.message)
      throw error
    }
    const compiled = { rule, pattern }
    if (pattern.kind === 'exact') append(this.exact, pattern.host, compiled)
    else if (pattern.kind === 'below' || pattern.kind === 'within') append(this.suffix, pattern.host, compiled)
    else if (pattern.kind === 'glob') this.wildcard.push(compiled)
    else this.any.push(compiled)
  }

  /** Every rule that speaks about `destination` for a connection of `sessionId` (undefined: of no known session). */
  match(destination: Destination, sessionId: SessionId | undefined): RuleMatch {
    const match: RuleMatch = { deny: undefined, allow: undefined, allowsExactly: false }
    for (const { rule, pattern } of this.candidates(destination.host)) {
      if (!patternNames(pattern, destination.host, rule.verdict) || !applies(rule, pattern, destination, sessionId))
        continue
      if (rule.verdict === 'deny') match.deny ??= rule
      else {
        match.allow ??= rule
        if (pattern.kind === 'exact') match.allowsExactly = true
      }
    }
    return match
  }

  /** Most specific first, so that the first match is the one to show. */
  private *candidates(host: string): Generator<CompiledRule> {
    yield* this.exact.get(host) ?? []
    const zoneAt = host.indexOf('%')
    if (zoneAt >= 0) yield* this.exact.get(host.slice(0, zoneAt)) ?? []
    for (let at = 0; at >= 0 && this.suffix.size > 0; at = nextLabel(host, at))
      yield* this.suffix.get(host.slice(at)) ?? []
    yield* this.wildcard
    yield* this.any
  }
}

function nextLabel(host: string, at: number): number {
  const dot = host.indexOf('.', at)
  return dot < 0 ? -1 : dot + 1
}

function append(map: Map<string, CompiledRule[]>, key: string, rule: CompiledRule): void {
  const list = map.get(key)
  if (list) list.push(rule)
  else map.set(key, [rule])
}

function applies(
  rule: NetworkRule,
  pattern: RulePattern,
  destination: Destination,
  sessionId: SessionId | undefined,
): boolean {
  if (pattern.port !== undefined && pattern.port !== destination.port) return false
  if (rule.scope === 'session' && (rule.sessionId === undefined || rule.sessionId !== sessionId)) return false
  return rule.protocol === undefined || coversProtocol(rule.protocol, destination.protocol)
}

/** A WebSocket on the plain listener is an HTTP request first, so a rule for `http` speaks about it too. */
function coversProtocol(rule: NetworkProtocol, actual: NetworkProtocol): boolean {
  return rule === actual || (rule === 'http' && actual === 'websocket')
}
