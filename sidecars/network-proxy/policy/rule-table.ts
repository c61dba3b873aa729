/** Network rules compiled for lookup: a match costs one map probe per label, however many rules exist. */
import type { NetworkRule } from '../../protocol/host-channel.ts'
import type { SessionId } from '../../protocol/ids.ts'
import type { NetworkProtocol } from '../../protocol/subject.ts'
import { parseHostPattern, patternNames, withoutZone, type HostPattern } from './host-pattern.ts'

/** What a rule is compared with. `host` is canonical. */
export interface Destination {
  host: string
  port: number
  protocol: NetworkProtocol
  method?: string
}

export interface CompiledRule {
  rule: NetworkRule
  pattern: HostPattern
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
    let pattern: HostPattern
    try {
      pattern = parseHostPattern(
        rule.pattern,
        rule.verdict === 'deny' && rule.port !== undefined ? 'allow' : rule.verdict,
      )
    } catch (error) {
      throw new InvalidRule(index, (error as Error).message)
    }
    const compiled = { rule, pattern }
    if (pattern.kind === 'exact') append(this.exact, pattern.host, compiled)
    else if (pattern.kind === 'below' || pattern.kind === 'apex') append(this.suffix, pattern.host, compiled)
    else if (pattern.kind === 'wildcard') this.wildcard.push(compiled)
    else this.any.push(compiled)
  }

  /** Every rule that speaks about `destination` for a connection of `sessionId` (undefined: of no known session). */
  match(destination: Destination, sessionId: SessionId | undefined): RuleMatch {
    const match: RuleMatch = { deny: undefined, allow: undefined, allowsExactly: false }
    for (const { rule, pattern } of this.candidates(destination.host)) {
      if (!patternNames(pattern, destination.host) || !applies(rule, pattern, destination, sessionId)) continue
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
    const unscoped = withoutZone(host)
    if (unscoped !== host) yield* this.exact.get(unscoped) ?? []
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
  pattern: HostPattern,
  destination: Destination,
  sessionId: SessionId | undefined,
): boolean {
  const port = rule.port ?? pattern.port
  if (port !== undefined && port !== destination.port) return false
  if (rule.scope === 'session' && (rule.sessionId === undefined || rule.sessionId !== sessionId)) return false
  return rule.protocol === undefined || coversProtocol(rule.protocol, destination.protocol)
}

/** A WebSocket on the plain listener is an HTTP request first, so a rule for `http` speaks about it too. */
function coversProtocol(rule: NetworkProtocol, actual: NetworkProtocol): boolean {
  return rule === actual || (rule === 'http' && actual === 'websocket')
}
