import type { EgressIntent, RulePreview } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import type { ConnectionId, RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { Audit } from '../audit/audit.ts'
import { matchesConnection, placeName, ruleWords, type HostRule, type Rule, type Rules } from '../rules/rules.ts'
import { Connections, type KeptConnection } from './connections.ts'
import type { ProxyRules } from './proxy-rules.ts'

/** The owner has clicked and looks; a proxy that is well takes a millisecond. */
const APPLY_MS = 5_000
const EXAMPLES = 5
/** Only the newest are compared with a rule that is shown before it is made. */
const COMPARED = 5_000

export interface EgressOptions {
  rules: Rules
  connections: Connections
  proxyRules: ProxyRules
  audit: Pick<Audit, 'record'>
  rulesFolder: string
}

const NO_SESSION = '' as SessionId

/** One-act decisions about hosts: allow or deny what a connection wanted, and take it back. */
export class Egress {
  constructor(private readonly options: EgressOptions) {}

  /**
   * Makes exactly the rule that was previewed. Resolves when the proxy has it in force, or when that
   * cannot be waited for (the rule is then shown as not applied).
   * @throws RpcError `notFound`, `invalidParams` (no session to hold it), `forbidden` (a rule denies this host)
   */
  async decide(intent: EgressIntent, actor: Actor): Promise<{ ruleId: RuleId }> {
    const kept = this.find(intent.connectionId)
    const proposed = this.propose(intent, kept)
    await this.clearWay(proposed, kept, intent)
    const { rules, audit } = this.options
    const sessionId = kept.holder?.sessionId
    const rule =
      intent.scope === 'session' && sessionId !== undefined
        ? rules.addSessionHost(proposed.text, sessionId)
        : rules.amend([proposed])[0]!
    audit.record({
      kind: 'rule.added',
      ruleId: rule.id,
      text: rule.text,
      scope: intent.scope,
      source: rule.place?.file ?? (intent.scope === 'session' ? 'session' : 'default.rules'),
      ...(sessionId !== undefined && { sessionId }),
      actor,
    })
    await this.waitUntilApplied()
    return { ruleId: rule.id }
  }

  /** Takes a decision back. */
  async undo(ruleId: RuleId, actor: Actor): Promise<void> {
    const removed = await this.options.rules.remove(ruleId)
    const text = 'text' in removed ? removed.text : removed.about
    const place = 'place' in removed ? removed.place : undefined
    this.options.audit.record({
      kind: 'rule.removed',
      ruleId,
      text,
      scope: place ? 'always' : 'session',
      source: place?.file ?? 'session',
      actor,
    })
    await this.waitUntilApplied()
  }

  /** The rule that `decide` would make, and the connections of this run that it speaks of. */
  preview(intent: EgressIntent): RulePreview {
    const kept = this.find(intent.connectionId)
    const rule = this.propose(intent, kept)
    const isSession = intent.scope === 'session'
    return {
      text: rule.text,
      words: `${ruleWords(rule)}${isSession ? ' for this session' : ''}`,
      storedIn: isSession ? 'memory, until the session ends' : `${this.options.rulesFolder}/default.rules`,
      matched: this.matched(rule, isSession ? kept.holder?.sessionId : undefined),
    }
  }

  private find(id: string): KeptConnection {
    const kept = this.options.connections.get(id as ConnectionId)
    if (!kept) throw new RpcError('notFound', 'This connection is no longer known; decide about a newer one.')
    return kept
  }

  private propose({ verdict, scope, breadth }: EgressIntent, { facts, holder }: KeptConnection): HostRule {
    if (scope === 'session' && !holder)
      throw new RpcError(
        'invalidParams',
        'scope: the connection belongs to no session that is known; decide for always.',
      )
    return this.options.rules.hostRule(facts, verdict, breadth === 'host')
  }

  /** An opposite rule for the same host and port gives way to the newer decision; a wider denial does not. */
  private async clearWay(
    rule: HostRule,
    { facts, holder }: KeptConnection,
    { scope, verdict }: EgressIntent,
  ): Promise<void> {
    const { rules } = this.options
    const sessionId = holder?.sessionId
    const opposite = verdict === 'allow' ? 'deny' : 'allow'
    const others = rules
      .all()
      .filter((other): other is HostRule => other.kind === 'network' && other.effect === opposite)
    const isSame = (other: HostRule) =>
      other.protocol === undefined &&
      JSON.stringify([other.host, other.port]) === JSON.stringify([rule.host, rule.port])
    for (const other of others)
      if (isSame(other) && (scope === 'always' ? other.sessionId === undefined : other.sessionId === sessionId))
        await rules.remove(other.id)
    if (verdict === 'deny') return
    const denying = rules.all().find((other) => other.effect === 'deny' && this.speaksOf(other, { facts, holder }))
    if (denying)
      throw new RpcError(
        'forbidden',
        `${placeName(denying)} denies ${facts.host}, and a denial wins. Remove it first: ${denying.text}`,
      )
  }

  private speaksOf(rule: Rule, { facts, holder }: KeptConnection): boolean {
    // A rule for a session never speaks of a connection that belongs to none.
    return rule.kind === 'network' && matchesConnection(rule, facts, holder?.sessionId ?? NO_SESSION)
  }

  private matched(rule: HostRule, sessionId: string | undefined): RulePreview['matched'] {
    const lines = new Set<string>()
    let count = 0
    let denied = 0
    const newest = [...this.options.connections.all()].slice(-COMPARED).toReversed()
    for (const kept of newest) {
      if (!this.speaksOf(rule, kept) || (sessionId !== undefined && kept.holder?.sessionId !== sessionId)) continue
      count += kept.facts.count
      if (kept.facts.verdict === 'deny' || kept.facts.state === 'blocked') denied += kept.facts.count
      const by = kept.holder ? ` by ${kept.holder.command}` : ''
      if (lines.size < EXAMPLES) lines.add(`${kept.facts.host}:${kept.facts.port}${by}`)
    }
    return { count, denied, examples: [...lines] }
  }

  private waitUntilApplied(): Promise<void> {
    return this.options.proxyRules.applied(APPLY_MS).catch(() => {
      // The rule is made and shown as not applied, with the reason.
    })
  }
}
