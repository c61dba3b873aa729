import { dirname } from 'node:path'
import type { RuleView } from '../../preload/api.ts'
import { patternCovers } from '../../sidecars/protocol/host-pattern.ts'
import { readCommandWrapper } from '../../sidecars/rules/command-wrapper.ts'
import { isLauncher } from '../../sidecars/rules/launcher.ts'
import { AMENDED_FILE } from './rule-folder.ts'
import { placeName, stricter, type CommandRule, type HostRule, type Rule } from '../../sidecars/rules/rule.ts'
import { ruleWords } from '../../sidecars/rules/rule-text.ts'
import type { SessionGrant } from './session-grants.ts'
import { readShellWrapper } from '../../sidecars/rules/shell-wrapper.ts'

export interface RuleViewContext {
  /** The rules in force, to tell which one takes the effect of another. */
  all: readonly Rule[]
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
    flag: (rule.kind === 'command' ? commandFlag(rule) : hostFlag(rule, context)) ?? shadowFlag(rule, context.all),
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

function commandFlag(rule: CommandRule): string | null {
  return isFollowed(rule) ? null : 'not followed: what it starts is judged by its own rules'
}

/** An allow rule for a shell or a wrapper alone is not. */
function isFollowed({ effect, pattern }: CommandRule): boolean {
  if (effect !== 'allow') return true
  const words = pattern.map((alternatives) => alternatives[0]!)
  const shell = readShellWrapper(words)
  return shell ? shell.kind === 'text' : !readCommandWrapper(words) && !isLauncher(words[0]!)
}

function shadowFlag(rule: Rule, all: readonly Rule[]): string | null {
  let same: Rule | undefined
  for (const other of all) {
    if (other === rule || !holdsWherever(other, rule) || !covers(other, rule)) continue
    if (other.effect !== rule.effect) {
      if (stricter(other.effect, rule.effect) === other.effect)
        return `has no effect: ${placeName(other)} decides first`
    } else if (!covers(rule, other) || all.indexOf(other) < all.indexOf(rule)) same ??= other
  }
  return same ? `says nothing new: ${placeName(same)} says the same` : null
}

/** Rules of a project hold below its folder, rules of a session in that session. */
function holdsWherever(other: Rule, rule: Rule): boolean {
  const folderOf = ({ place }: Rule) => (place?.file.startsWith('/') ? dirname(place.file) : null)
  const sessionOf = (one: Rule) => (one.kind === 'network' ? one.sessionId : undefined)
  return (
    (folderOf(other) === null || folderOf(other) === folderOf(rule)) &&
    (sessionOf(other) === undefined || sessionOf(other) === sessionOf(rule))
  )
}

/** Whether a rule speaks of everything that the other one speaks of. */
function covers(wide: Rule, narrow: Rule): boolean {
  if (wide.kind === 'command')
    return (
      narrow.kind === 'command' &&
      isFollowed(wide) &&
      wide.pattern.length <= narrow.pattern.length &&
      wide.pattern.every((alternatives, i) => narrow.pattern[i]!.every((word) => alternatives.includes(word)))
    )
  return (
    narrow.kind === 'network' &&
    (wide.protocol === undefined || wide.protocol === narrow.protocol) &&
    patternCovers({ ...wide.host, port: wide.port }, { ...narrow.host, port: narrow.port }, wide.effect)
  )
}

function hostFlag(rule: HostRule, { heldBack, notApplied }: RuleViewContext): string | null {
  if (notApplied !== null && rule.effect !== 'ask') return `not applied: ${notApplied}`
  const cause = heldBack.get(rule)
  if (cause) return `asked first for some of its hosts: ${placeName(cause)}`
  return rule.host.kind === 'any' && rule.effect === 'allow' ? 'allows every public host' : null
}
