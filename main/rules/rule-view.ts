import type { RuleView } from '../../preload/api.ts'
import { readCommandWrapper } from '../../sidecars/rules/command-wrapper.ts'
import { isLauncher } from '../../sidecars/rules/launcher.ts'
import { AMENDED_FILE } from './rule-folder.ts'
import { placeName, stricter, type CommandRule, type HostRule, type Rule } from '../../sidecars/rules/rule.ts'
import { ruleWords } from '../../sidecars/rules/rule-text.ts'
import type { SessionGrant } from './session-grants.ts'
import { readShellWrapper } from '../../sidecars/rules/shell-wrapper.ts'

export interface RuleViewContext {
  /** Other rules in force, to tell which one takes the effect of this one. */
  commands: readonly CommandRule[]
  heldBack: ReadonlyMap<HostRule, HostRule>
  /** Why the proxy does not follow the newest rules; null while it does. */
  notApplied: string | null
  firedOf(id: Rule['id']): { count: number; lastAtMs: number } | undefined
}

/** What the Rules page shows of a rule. */
export function ruleView(rule: Rule, context: RuleViewContext): RuleView {
  const fired = context.firedOf(rule.id)
  const sessionId = rule.kind === 'network' ? (rule.sessionId ?? null) : null
  return {
    id: rule.id,
    kind: rule.kind,
    text: rule.text,
    words: ruleWords(rule),
    effect: rule.effect,
    scope: sessionId === null ? 'always' : 'session',
    sessionId,
    source: sessionId === null ? (rule.place?.file ?? AMENDED_FILE) : 'session',
    line: rule.place?.line ?? null,
    lastFiredAtMs: fired?.lastAtMs ?? null,
    fired: fired?.count ?? 0,
    flag: rule.kind === 'command' ? commandFlag(rule, context.commands) : hostFlag(rule, context),
  }
}

/** A decision for the session in the same table. */
export function grantView(grant: SessionGrant, context: Pick<RuleViewContext, 'firedOf'>): RuleView {
  const fired = context.firedOf(grant.id)
  const verb = grant.verdict === 'allow' ? 'Allow' : 'Deny'
  return {
    id: grant.id,
    kind: 'command',
    text: grant.about,
    words: grant.paths
      ? `${verb} changes of ${grant.paths.size === 1 ? 'this file' : `these ${grant.paths.size} files`} for this session`
      : `${verb} exactly this for this session`,
    effect: grant.verdict,
    scope: 'session',
    sessionId: grant.sessionId,
    source: 'session',
    line: null,
    lastFiredAtMs: fired?.lastAtMs ?? null,
    fired: fired?.count ?? 0,
    flag: null,
  }
}

function commandFlag(rule: CommandRule, all: readonly CommandRule[]): string | null {
  if (rule.effect === 'allow') {
    const words = rule.pattern.map((alternatives) => alternatives[0]!)
    const shell = readShellWrapper(words)
    if (shell ? shell.kind !== 'text' : readCommandWrapper(words) || isLauncher(words[0]!))
      return 'not followed: what it starts is judged by its own rules'
  }
  const shadow = all.find((other) => other !== rule && shadows(other, rule))
  return shadow ? `has no effect: ${placeName(shadow)} decides first` : null
}

/** Whether a stricter rule, or an equal one further up, holds for everything that this one speaks of. */
function shadows(other: CommandRule, rule: CommandRule): boolean {
  if (other.effect === rule.effect || stricter(other.effect, rule.effect) !== other.effect) return false
  return (
    other.pattern.length <= rule.pattern.length &&
    other.pattern.every((alternatives, i) => rule.pattern[i]!.every((word) => alternatives.includes(word)))
  )
}

function hostFlag(rule: HostRule, { heldBack, notApplied }: RuleViewContext): string | null {
  if (notApplied !== null && rule.effect !== 'ask') return `not applied: ${notApplied}`
  const cause = heldBack.get(rule)
  if (cause) return `asked first for some of its hosts: ${placeName(cause)}`
  return rule.host.kind === 'any' && rule.effect === 'allow' ? 'allows every public host' : null
}
