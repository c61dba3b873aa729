/** What a running proxy really does under the administrator's demands, whatever it was told. */
import type { NetworkRule } from '../../protocol/host-channel.ts'
import type { RuleId } from '../../protocol/ids.ts'
import {
  formatRulePattern,
  InvalidPattern,
  parseRulePattern,
  type RulePattern,
  patternCovers,
} from '../../protocol/host-pattern.ts'
import { InvalidRule } from '../policy/rule-table.ts'
import type { ProxySettings } from '../settings.ts'
import type { Requirements } from './requirements.ts'

/** The settings within the demands, and one sentence for each that had to give way. */
export function restrictSettings(
  settings: ProxySettings,
  required: Requirements | undefined,
): { settings: ProxySettings; warnings: string[] } {
  if (!required) return { settings, warnings: [] }
  const next: ProxySettings = { ...settings, review: [...(settings.review ?? []), ...required.review] }
  const warnings: string[] = []
  const giveWay = (key: string) =>
    warnings.push(`network.${key}: the administrator of this machine does not allow it; it is off`)
  if (required.enabled === false && next.enabled) {
    next.enabled = false
    giveWay('enabled')
  }
  if (required.mode === 'limited' && next.mode === 'full') {
    next.mode = 'limited'
    giveWay('mode = "full"')
  }
  for (const key of ['allowUpstreamProxy', 'allowNonLoopback', 'allowLocalBinding'] as const)
    if (required[key] === false && next[key]) {
      next[key] = false
      giveWay(key)
    }
  const allSockets = required.allowAllUnixSockets ?? required.unixSockets === undefined
  if (next.unixSockets.allowAll && !allSockets) {
    next.unixSockets = { ...next.unixSockets, allowAll: false }
    giveWay('dangerously_allow_all_unix_sockets')
  }
  if (required.allowedOnly) next.unknownHost = 'block'
  if (required.httpPort !== undefined) next.http = { ...next.http, port: required.httpPort }
  if (required.socksPort !== undefined && next.socks) next.socks = { ...next.socks, port: required.socksPort }
  return { settings: next, warnings }
}

/**
 * The rules within the demands: managed denials are always there, managed allows too, and an allow
 * beyond the managed list counts for nothing unless users may go beyond it. @throws InvalidRule
 */
export function restrictRules(
  rules: readonly NetworkRule[],
  required: Requirements | undefined,
): readonly NetworkRule[] {
  if (!required) return rules
  const limits = required.allowedExpansion === true ? undefined : required.allowed
  return [
    ...rules.filter((rule, index) => {
      const pattern = patternOf(rule, index)
      return rule.verdict === 'deny' || !limits || limits.some((entry) => patternCovers(entry, pattern, 'allow'))
    }),
    ...required.denied.map((pattern) => managedRule('deny', formatRulePattern(pattern))),
    ...(required.allowed ?? []).map((pattern) => managedRule('allow', formatRulePattern(pattern))),
  ]
}

function patternOf({ pattern, verdict, port }: NetworkRule, index: number): RulePattern {
  try {
    return parseRulePattern(pattern, verdict, port)
  } catch (error) {
    if (error instanceof InvalidPattern) throw new InvalidRule(index, error.message)
    throw error
  }
}

function managedRule(verdict: 'allow' | 'deny', pattern: string): NetworkRule {
  return { id: `rul_managed_${verdict}_${pattern}` as RuleId, pattern, verdict, scope: 'always' }
}
