/**
 * Patterns as rules and configuration files write them: the house's host patterns, and beyond those a
 * `:port` and inline `*` and `?` in names. Compared with canonical hosts only.
 */
import { isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import {
  formatHostPattern,
  hostMatches,
  InvalidHost,
  isIpLiteral,
  parseHostPattern,
  type HostPattern,
} from '../../protocol/host-pattern.ts'
import type { Verdict } from '../../protocol/decision.ts'

/** `glob` is matched over the whole name. Without a port the pattern means every port. */
export type RulePattern = { port: number | undefined } & (HostPattern | { kind: 'glob'; glob: string })

/** A pattern that cannot be used; `message` names the problem and what to write instead. */
export class InvalidPattern extends Error {
  constructor(pattern: string, problem: string) {
    super(`${JSON.stringify(pattern)}: ${problem}`)
    this.name = 'InvalidPattern'
  }
}

const GLOBAL_SPELLINGS = new Set(['*', '*.', '[*]', '**.*', '**.*.'])

/**
 * Reads the pattern of a rule with that verdict. `port` is the rule's own, when it is written beside the
 * pattern.
 * @throws InvalidPattern
 */
export function parseRulePattern(text: string, verdict: Verdict, port?: number): RulePattern {
  const trimmed = text.trim()
  if (trimmed === '') throw new InvalidPattern(text, 'the domain pattern is empty')
  if (trimmed.includes('://'))
    throw new InvalidPattern(text, 'a pattern is a host, not a URL; write the host without the scheme')
  if (/[{}\\/\s,]/.test(trimmed))
    throw new InvalidPattern(text, 'unsupported domain pattern syntax; write one host, *.host or **.host a rule')
  if (/[[\]]/.test(trimmed) && !/^\[[^[\]]+\](?::.*)?$/.test(trimmed))
    throw new InvalidPattern(text, 'brackets are only supported for IPv6 addresses, around the whole address')
  const split = splitPort(text, trimmed)
  const pattern = { port: port ?? split.port, ...parseHost(text, split.host) }
  if (verdict === 'deny' && pattern.port === undefined && meansEverything(pattern))
    throw new InvalidPattern(
      text,
      'unsupported global wildcard in a deny rule. A deny beats every allow, so it would block everything, and ' +
        'hosts that no rule allows are refused without it. Remove the rule',
    )
  return pattern
}

function meansEverything(pattern: RulePattern): boolean {
  return pattern.kind === 'any' || (pattern.kind === 'glob' && /^[*?.]+$/.test(pattern.glob))
}

function splitPort(text: string, trimmed: string): { host: string; port: number | undefined } {
  const colon = trimmed.indexOf(':', trimmed.lastIndexOf(']') + 1)
  if (colon < 0 || isIPv6(trimmed.split('%')[0] ?? '')) return { host: trimmed, port: undefined }
  const digits = trimmed.slice(colon + 1)
  const port = Number(digits)
  if (!/^\d{1,5}$/.test(digits) || port < 1 || port > 65535)
    throw new InvalidPattern(text, `the port must be a number from 1 to 65535, not ${JSON.stringify(digits)}`)
  return { host: trimmed.slice(0, colon), port }
}

function parseHost(text: string, host: string): HostPattern | { kind: 'glob'; glob: string } {
  if (GLOBAL_SPELLINGS.has(host)) return { kind: 'any' }
  const rest = host.replace(/^\*\*?\./, '')
  if (rest.includes('**') || (host.startsWith('**.') && rest.includes('*')))
    throw new InvalidPattern(text, 'unsupported repeated wildcard; ** is only allowed as **.host with a plain host')
  if (/[*?]/.test(rest)) return { kind: 'glob', glob: canonicalGlob(text, host) }
  try {
    return parseHostPattern(host)
  } catch (error) {
    if (error instanceof InvalidHost) throw new InvalidPattern(text, error.message)
    throw error
  }
}

/** Lower case, one trailing dot less, labels without wildcards in ASCII form. */
function canonicalGlob(text: string, host: string): string {
  const glob = host
    .toLowerCase()
    .replace(/\.$/, '')
    .split('.')
    .map((label) => asciiLabel(text, label))
    .join('.')
  if (!/^[a-z0-9*?._-]+$/.test(glob)) throw new InvalidPattern(text, 'unsupported domain pattern syntax')
  // Such a rule would be dead, because wildcards never match addresses.
  if (/^[0-9*?.]+$/.test(glob) && /[0-9]/.test(glob))
    throw new InvalidPattern(text, 'wildcards do not match addresses; write each address as a rule of its own')
  return glob
}

function asciiLabel(text: string, label: string): string {
  if (label === '') throw new InvalidPattern(text, 'the host has an empty label')
  if (!/[^\0-\x7f]/.test(label)) return label
  if (/[*?]/.test(label))
    throw new InvalidPattern(text, 'a wildcard cannot stand beside letters outside ASCII in one label')
  const ascii = domainToASCII(label)
  if (ascii === '') throw new InvalidPattern(text, 'the host is not a valid international name')
  return ascii
}

/**
 * True when the pattern names the canonical `host`, ports aside. Wildcards never allow an address, which
 * has to be written out; a deny for any host means addresses too.
 */
export function patternNames(pattern: RulePattern, host: string, verdict: Verdict): boolean {
  switch (pattern.kind) {
    case 'glob':
      return !isIpLiteral(host) && matchesGlob(pattern.glob, host)
    case 'any':
      return verdict === 'deny' || !isIpLiteral(host)
    default:
      return hostMatches(pattern, host)
  }
}

/**
 * Whole-name match of a glob in which `*` is any run of characters, dots included, and `?` exactly one.
 * Backtracks to the latest `*` only, so the work is bounded by glob × host.
 */
function matchesGlob(glob: string, host: string): boolean {
  let g = 0
  let h = 0
  let starAt = -1
  let resumeAt = 0
  while (h < host.length) {
    const c = glob[g]
    if (c === '*') {
      starAt = g++
      resumeAt = h
    } else if (c === '?' || c === host[h]) {
      g++
      h++
    } else if (starAt >= 0) {
      g = starAt + 1
      h = ++resumeAt
    } else return false
  }
  while (glob[g] === '*') g++
  return g === glob.length
}

/** The canonical text of a pattern; parsing it gives the pattern back. */
export function formatRulePattern(pattern: RulePattern): string {
  const host = pattern.kind === 'glob' ? pattern.glob : formatHostPattern(pattern)
  if (pattern.port === undefined) return host
  return `${host.includes(':') ? `[${host}]` : host}:${pattern.port}`
}
