/** What the Rules page reads from the feed. */
import type { RuleProblemView, RuleView } from '../../preload/api.ts'
import type { FeedState } from '../feed/feed-state.ts'
import { memoizeLast } from '../feed/tables.ts'

export type RuleKind = RuleView['kind']

const inFileOrder = memoizeLast((table: FeedState['tables']['rules']) =>
  [...table.rows.values()].sort(
    (a, b) =>
      (a.source < b.source ? -1 : a.source > b.source ? 1 : 0) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.id < b.id ? -1 : 1),
  ),
)

/** By file and line, as they are written. */
export function selectRules(state: FeedState): readonly RuleView[] {
  return inFileOrder(state.tables.rules)
}

const problemsOf = memoizeLast((table: FeedState['tables']['ruleProblems']): RuleProblemView[] => [
  ...table.rows.values(),
])

export function selectRuleProblems(state: FeedState): readonly RuleProblemView[] {
  return problemsOf(state.tables.ruleProblems)
}

/** Which rules are shown: every one, those that never decided anything, those with something odd about them. */
export type RuleFilter = 'all' | 'neverFired' | 'flagged'

export function passesFilter(rule: RuleView, filter: RuleFilter): boolean {
  if (filter === 'neverFired') return rule.lastFiredAtMs === null
  return filter === 'all' || rule.flag !== null
}

export function filterRules(rules: readonly RuleView[], kind: RuleKind, query: string): readonly RuleView[] {
  const wanted = query.trim().toLowerCase()
  return rules.filter(
    (rule) =>
      rule.kind === kind &&
      (wanted === '' || `${rule.text}\n${rule.words}\n${rule.source}`.toLowerCase().includes(wanted)),
  )
}

/** "default.rules:9". */
export function ruleSource({ source, line }: Pick<RuleView, 'source' | 'line'>): string {
  return line === null ? source : `${source}:${line}`
}
