/** The network object of a configuration file: every key, its type, its default, and nothing else. */
import { isAbsolute } from 'node:path'
import type { NetworkRule } from '../../protocol/host-channel.ts'
import type { RuleId } from '../../protocol/ids.ts'
import type { ListenAt } from '../listener.ts'
import { formatRulePattern, InvalidPattern, parseRulePattern } from '../../protocol/host-pattern.ts'
import { ConfigError } from './config-error.ts'
import { parseListenAddress } from './listen-address.ts'

export { ConfigError }

export const DEFAULT_HTTP_PORT = 3128
export const DEFAULT_SOCKS_PORT = 8081

export interface NetworkConfig {
  enabled: boolean
  http: ListenAt
  /** Undefined when SOCKS is off. */
  socks: ListenAt | undefined
  socksUdp: boolean
  allowUpstreamProxy: boolean
  allowNonLoopback: boolean
  /** Any absolute path; only ever effective on macOS. */
  allowAllUnixSockets: boolean
  unixSockets: Record<string, 'allow' | 'deny'>
  mode: 'full' | 'limited'
  limitedAllowsWebsocket: boolean
  allowLocalBinding: boolean
  /** Connections of commands behind walls are redirected to SOCKS. */
  transparentTcp: boolean
  /** Effective map, sorted: one entry a pattern, deny over allow. */
  domains: Record<string, 'allow' | 'deny'>
  /** HTTPS inspection, decoded where it is done. */
  mitm: unknown
  mitmCa: unknown
  /** Things that were accepted but deserve a word. */
  warnings: string[]
}

const RESERVED = ['credential_broker', 'credential_providers', 'dangerously_allow_plaintext_credential_injection']
const KNOWN = [
  'enabled',
  'proxy_url',
  'enable_socks5',
  'socks_url',
  'enable_socks5_udp',
  'allow_upstream_proxy',
  'dangerously_allow_non_loopback_proxy',
  'dangerously_allow_all_unix_sockets',
  'mode',
  'limited_allows_websocket',
  'domains',
  'allowed_domains',
  'denied_domains',
  'unix_sockets',
  'allow_local_binding',
  'transparent_tcp',
  'mitm',
  'mitm_ca',
]

/**
 * Reads the network object. Unknown keys are errors: a misspelt `domains` would deny everything, a
 * misspelt deny nothing.
 * @throws ConfigError
 */
export function parseNetworkConfig(value: unknown, platform: NodeJS.Platform = process.platform): NetworkConfig {
  const source = new Source(value)
  const warnings: string[] = []
  return {
    enabled: source.boolean('enabled', false),
    http: source.address('proxy_url', `http://127.0.0.1:${DEFAULT_HTTP_PORT}`, DEFAULT_HTTP_PORT),
    socks: source.boolean('enable_socks5', true)
      ? source.address('socks_url', `http://127.0.0.1:${DEFAULT_SOCKS_PORT}`, DEFAULT_SOCKS_PORT)
      : undefined,
    socksUdp: source.boolean('enable_socks5_udp', false),
    allowUpstreamProxy: source.boolean('allow_upstream_proxy', true),
    allowNonLoopback: source.boolean('dangerously_allow_non_loopback_proxy', false),
    allowAllUnixSockets: source.boolean('dangerously_allow_all_unix_sockets', false),
    unixSockets: source.unixSockets(),
    mode: source.choice('mode', ['full', 'limited'], 'full'),
    limitedAllowsWebsocket: source.boolean('limited_allows_websocket', false),
    allowLocalBinding: source.boolean('allow_local_binding', false),
    transparentTcp: source.transparentTcp(platform),
    domains: source.domains(warnings),
    mitm: source.raw('mitm'),
    mitmCa: source.raw('mitm_ca'),
    warnings,
  }
}

/** The rules that a domain map says. */
export function rulesOfDomains(domains: NetworkConfig['domains']): NetworkRule[] {
  return Object.entries(domains).map(([pattern, verdict]) => ({
    id: `rul_config_${pattern}` as RuleId,
    pattern,
    verdict,
    scope: 'always',
  }))
}

class Source {
  private readonly value: Record<string, unknown>

  constructor(value: unknown) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ConfigError('network', 'expected a table of settings')
    this.value = value as Record<string, unknown>
    for (const key of Object.keys(this.value)) {
      if (RESERVED.includes(key) && !isEmpty(this.value[key]))
        throw new ConfigError(`network.${key}`, 'this name is reserved and does nothing yet; remove it')
      if (!KNOWN.includes(key) && !RESERVED.includes(key)) throw new ConfigError(`network.${key}`, unknownKey(key))
    }
  }

  raw(key: string): unknown {
    return this.value[key]
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.value[key]
    if (value === undefined) return fallback
    if (typeof value !== 'boolean') throw new ConfigError(`network.${key}`, 'expected true or false')
    return value
  }

  transparentTcp(platform: NodeJS.Platform): boolean {
    if (!this.boolean('transparent_tcp', false)) return false
    if (!this.boolean('enable_socks5', true))
      throw new ConfigError(
        'network.transparent_tcp',
        'redirected connections go through SOCKS; set network.enable_socks5 = true, or remove it',
      )
    if (platform !== 'linux')
      throw new ConfigError(
        'network.transparent_tcp',
        'connections are redirected on Linux only; remove it: programs have to use the proxy variables here',
      )
    return true
  }

  choice<T extends string>(key: string, choices: readonly T[], fallback: T): T {
    const value = this.value[key]
    if (value === undefined) return fallback
    const known = choices.find((choice) => choice === value)
    if (known === undefined)
      throw new ConfigError(
        `network.${key}`,
        `unknown variant ${JSON.stringify(value)}, expected ${choices.map((c) => `"${c}"`).join(' or ')}`,
      )
    return known
  }

  address(key: string, fallback: string, defaultPort: number): ListenAt {
    const value = this.value[key] ?? fallback
    if (typeof value !== 'string')
      throw new ConfigError(`network.${key}`, 'expected an address such as "http://127.0.0.1:3128"')
    try {
      return parseListenAddress(value, defaultPort)
    } catch (error) {
      throw new ConfigError(`network.${key}`, (error as Error).message)
    }
  }

  domains(warnings: string[]): Record<string, 'allow' | 'deny'> {
    const entries: [key: string, pattern: string, verdict: unknown][] = Object.entries(this.map('domains')).map(
      ([pattern, verdict]) => [`network.domains.${JSON.stringify(pattern)}`, pattern, verdict],
    )
    for (const [key, verdict] of [
      ['allowed_domains', 'allow'],
      ['denied_domains', 'deny'],
    ] as const)
      for (const pattern of this.legacyList(key, warnings)) entries.push([`network.${key}`, pattern, verdict])
    return effectiveDomains(entries)
  }

  private legacyList(key: string, warnings: string[]): string[] {
    const value = this.value[key]
    if (value === undefined) return []
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
      throw new ConfigError(`network.${key}`, 'expected a list of host patterns')
    warnings.push(`network.${key} is the old spelling; write the hosts into network.domains as "allow" or "deny"`)
    return value as string[]
  }

  unixSockets(): Record<string, 'allow' | 'deny'> {
    const sockets = this.map('unix_sockets')
    const out: Record<string, 'allow' | 'deny'> = {}
    for (const [path, verdict] of Object.entries(sockets)) {
      const field = `network.unix_sockets.${JSON.stringify(path)}`
      if (verdict !== 'allow' && verdict !== 'deny') throw new ConfigError(field, 'expected "allow" or "deny"')
      if (verdict === 'allow' && (!isAbsolute(path) || path.includes('\0')))
        throw new ConfigError(field, 'expected an absolute path without NUL')
      out[path] = verdict
    }
    return out
  }

  private map(key: string): Record<string, unknown> {
    const value = this.value[key] ?? {}
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ConfigError(`network.${key}`, 'expected a table of names to "allow" or "deny"')
    return value as Record<string, unknown>
  }
}

function effectiveDomains(
  entries: readonly [key: string, pattern: string, verdict: unknown][],
): Record<string, 'allow' | 'deny'> {
  const effective = new Map<string, 'allow' | 'deny'>()
  for (const [field, pattern, verdict] of entries) {
    if (verdict !== 'allow' && verdict !== 'deny') throw new ConfigError(field, 'expected "allow" or "deny"')
    const canonical = canonicalPattern(field, pattern, verdict)
    if (effective.get(canonical) !== 'deny') effective.set(canonical, verdict)
  }
  return Object.fromEntries([...effective].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function canonicalPattern(field: string, pattern: string, verdict: 'allow' | 'deny'): string {
  try {
    return formatRulePattern(parseRulePattern(pattern, verdict))
  } catch (error) {
    if (error instanceof InvalidPattern) throw new ConfigError(field, error.message)
    throw error
  }
}

function isEmpty(value: unknown): boolean {
  return value === false || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
}

function unknownKey(key: string): string {
  const near = KNOWN.find((known) => known.startsWith(key.slice(0, 5)) || key.startsWith(known.slice(0, 5)))
  return `unknown key${near === undefined ? '' : `; did you mean ${near}?`} (known keys: ${KNOWN.join(', ')})`
}
