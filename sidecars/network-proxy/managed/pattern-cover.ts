/** Whether one host pattern means everything that another one means. */
import { formatRulePattern, patternNames, type RulePattern } from '../../protocol/host-pattern.ts'

/** True when each host and port that `candidate` allows is allowed by `managed` too. */
export function covers(managed: RulePattern, candidate: RulePattern): boolean {
  if (managed.port !== undefined && managed.port !== candidate.port) return false
  if (candidate.kind === 'exact') return patternNames(managed, candidate.host, 'allow')
  if (managed.kind === 'any') return true
  if (candidate.kind === 'glob' || managed.kind === 'glob') return sameHosts(managed, candidate)
  if (managed.kind === 'exact' || candidate.kind === 'any') return false
  // A subtree lies inside another when its top does; with its top itself only if that is inside as well.
  return managed.host === candidate.host
    ? managed.kind === 'within' || candidate.kind === 'below'
    : patternNames(managed, candidate.host, 'allow')
}

function sameHosts(a: RulePattern, b: RulePattern): boolean {
  return formatRulePattern({ ...a, port: undefined }) === formatRulePattern({ ...b, port: undefined })
}
