/** Whether a configuration file stays within what the administrator demands. */
import { ConfigError } from '../config/config-error.ts'
import type { NetworkConfig } from '../config/network-config.ts'
import { formatRulePattern, parseRulePattern, type RulePattern, patternCovers } from '../../protocol/host-pattern.ts'
import type { Requirements } from './requirements.ts'

/** @throws ConfigError "network.<key>: <candidate> is not allowed here (allowed: …)" for the first breach */
export function checkConfig(config: NetworkConfig, required: Requirements): void {
  forbidTrue('enabled', config.enabled, required.enabled)
  if (required.mode === 'limited' && config.mode === 'full') throw breach('mode', 'full', 'limited')
  forbidTrue('allow_upstream_proxy', config.allowUpstreamProxy, required.allowUpstreamProxy)
  forbidTrue('dangerously_allow_non_loopback_proxy', config.allowNonLoopback, required.allowNonLoopback)
  forbidTrue('allow_local_binding', config.allowLocalBinding, required.allowLocalBinding)
  checkUnixSockets(config, required)
  checkAllowed(patternsOf(config, 'allow'), patternsOf(config, 'deny'), required)
  checkDenied(patternsOf(config, 'deny'), required)
}

function breach(key: string, candidate: string, allowed: string): ConfigError {
  return new ConfigError(
    `network.${key}`,
    `${candidate} is not what the administrator of this machine allows (allowed: ${allowed})`,
  )
}

function forbidTrue(key: string, value: boolean, required: boolean | undefined): void {
  if (required === false && value) throw breach(key, 'true', 'false')
}

function checkUnixSockets(config: NetworkConfig, required: Requirements): void {
  const allAllowed = required.allowAllUnixSockets ?? required.unixSockets === undefined
  if (config.allowAllUnixSockets && !allAllowed) throw breach('dangerously_allow_all_unix_sockets', 'true', 'false')
  const { unixSockets } = required
  if (!unixSockets) return
  const known = new Set(unixSockets.map((path) => path.toLowerCase()))
  for (const [path, verdict] of Object.entries(config.unixSockets))
    if (verdict === 'allow' && !known.has(path.toLowerCase()))
      throw breach('unix_sockets', path, unixSockets.join(', ') || 'none')
}

function patternsOf(config: NetworkConfig, verdict: 'allow' | 'deny'): RulePattern[] {
  return Object.keys(config.domains)
    .filter((pattern) => config.domains[pattern] === verdict)
    .map((pattern) => parseRulePattern(pattern, verdict))
}

function checkAllowed(allowed: RulePattern[], denied: RulePattern[], required: Requirements): void {
  if (!required.allowed) return
  const managed = required.allowed
  const listed = managed.map(formatRulePattern).join(', ')
  if (required.allowedExpansion === undefined) {
    const beyond = allowed.find((pattern) => !managed.some((entry) => patternCovers(entry, pattern, 'allow')))
    if (beyond) throw breach('allowed_domains', formatRulePattern(beyond), `a subset of ${listed}`)
    return
  }
  const expected = managed.filter((entry) => !includes(denied, entry))
  const missing = expected.find((entry) => !includes(allowed, entry))
  if (missing) throw breach('allowed_domains', `a list without ${formatRulePattern(missing)}`, listed)
  if (required.allowedExpansion) return
  const extra = allowed.find((pattern) => !includes(expected, pattern))
  if (extra) throw breach('allowed_domains', formatRulePattern(extra), `exactly ${listed}`)
}

function checkDenied(denied: RulePattern[], required: Requirements): void {
  const listed = required.denied.map(formatRulePattern).join(', ')
  const missing = required.denied.find((entry) => !includes(denied, entry))
  if (missing) throw breach('denied_domains', `a list without ${formatRulePattern(missing)}`, listed)
  if (required.deniedExpansion !== false) return
  const extra = denied.find((pattern) => !includes(required.denied, pattern))
  if (extra) throw breach('denied_domains', formatRulePattern(extra), `exactly ${listed || 'nothing'}`)
}

function includes(patterns: RulePattern[], wanted: RulePattern): boolean {
  const text = formatRulePattern(wanted)
  return patterns.some((pattern) => formatRulePattern(pattern) === text)
}
