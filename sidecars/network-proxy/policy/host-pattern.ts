/**
 * Host patterns of rules: `host`, `*.host` (strictly below), `**.host` (itself and below), `*` (any),
 * inline `*` and `?` in names, each with an optional `:port`. Compared with canonical hosts only.
 */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { canonicalHost, InvalidHost, isAddress } from './canonical-host.ts'

export type HostPattern = { port: number | undefined } & (
  | { kind: 'any' }
  | { kind: 'exact'; host: string }
  /** One or more labels below `host`. */
  | { kind: 'below'; host: string }
  /** `host` and everything below it. */
  | { kind: 'apex'; host: string }
  /** Inline wildcards, matched over the whole name. */
  | { kind: 'wildcard'; glob: string }
)

/** A pattern that cannot be used; `message` names the problem and what to write instead. */
export class InvalidPattern extends Error {
  constructor(pattern: string, problem: string) {
    super(`${JSON.stringify(pattern)}: ${problem}`)
    this.name = 'InvalidPattern'
  }
}

const GLOBAL_SPELLINGS = new Set(['*', '*.', '[*]', '**.*', '**.*.'])

/**
 * Parses one pattern of a rule with verdict `effect`.
 * @throws InvalidPattern
 */
export function parseHostPattern(text: string, effect: 'allow' | 'deny'): HostPattern {
  const trimmed = text.trim()
  const { hostText, port } = splitPort(text, trimmed)
  if (GLOBAL_SPELLINGS.has(hostText)) {
    if (effect === 'deny' && port === undefined) throw globalDeny(text)
    return { kind: 'any', port }
  }
  if (trimmed === '') throw new InvalidPattern(text, 'the domain pattern is empty')
  if (trimmed.includes('://'))
    throw new InvalidPattern(text, 'a pattern is a host, not a URL; write the host without the scheme')
  if (/[{}\\/\s,]/.test(trimmed))
    throw new InvalidPattern(text, 'unsupported domain pattern syntax; write one host, *.host or **.host a rule')
  if (hostText.startsWith('[') || hostText.includes(':')) return { kind: 'exact', host: literal(text, hostText), port }
  if (hostText.includes('[') || hostText.includes(']'))
    throw new InvalidPattern(text, 'brackets are only supported for IPv6 addresses at the start')
  return { ...namePattern(text, hostText, effect), port }
}

function splitPort(text: string, trimmed: string): { hostText: string; port: number | undefined } {
  const bracket = trimmed.lastIndexOf(']')
  const colon = trimmed.indexOf(':', bracket + 1)
  const isBareIpv6 = bracket < 0 && isIP(trimmed.split('%')[0]!) === 6
  if (colon < 0 || isBareIpv6 || trimmed.includes('://')) return { hostText: trimmed, port: undefined }
  const digits = trimmed.slice(colon + 1)
  const port = Number(digits)
  if (!/^\d{1,5}$/.test(digits) || port < 1 || port > 65535)
    throw new InvalidPattern(text, `the port must be a number from 1 to 65535, not ${JSON.stringify(digits)}`)
  return { hostText: trimmed.slice(0, colon), port }
}

function globalDeny(text: string): InvalidPattern {
  return new InvalidPattern(
    text,
    'unsupported global wildcard in a deny rule. A deny beats every allow, so this would block everything; ' +
      'hosts that no rule allows are refused without it. Remove the rule',
  )
}

function literal(text: string, hostText: string): string {
  try {
    return canonicalHost(hostText)
  } catch (error) {
    if (!(error instanceof InvalidHost)) throw error
    throw new InvalidPattern(text, `brackets are only supported for IPv6 addresses: ${error.message}`)
  }
}

type NamePattern =
  | { kind: 'exact'; host: string }
  | { kind: 'below'; host: string }
  | { kind: 'apex'; host: string }
  | { kind: 'wildcard'; glob: string }

function namePattern(text: string, hostText: string, effect: 'allow' | 'deny'): NamePattern {
  const prefix = hostText.startsWith('**.') ? '**.' : hostText.startsWith('*.') ? '*.' : ''
  const rest = hostText.slice(prefix.length)
  if (rest.includes('**'))
    throw new InvalidPattern(text, 'unsupported repeated wildcard; ** is only allowed as **.host')
  if (!/[*?]/.test(rest)) {
    const host = exactName(text, rest)
    if (prefix === '') return { kind: 'exact', host }
    if (isAddress(host)) throw new InvalidPattern(text, 'nothing is below an address; write the address itself')
    return prefix === '*.' ? { kind: 'below', host } : { kind: 'apex', host }
  }
  if (prefix === '**.') throw new InvalidPattern(text, 'unsupported repeated wildcard; ** needs a plain host after it')
  const glob = canonicalGlob(text, hostText)
  if (effect === 'deny' && /^[*?.]+$/.test(glob)) throw globalDeny(text)
  return { kind: 'wildcard', glob }
}

function exactName(text: string, host: string): string {
  try {
    return canonicalHost(host)
  } catch (error) {
    if (!(error instanceof InvalidHost)) throw error
    throw new InvalidPattern(text, `the host ${error.message}`)
  }
}

/** Lower case, one trailing dot less, labels without wildcards in ASCII form. */
function canonicalGlob(text: string, hostText: string): string {
  let glob = hostText.toLowerCase()
  if (glob.endsWith('.')) glob = glob.slice(0, -1)
  const labels = glob.split('.').map((label) => {
    if (label === '') throw new InvalidPattern(text, 'the host has an empty label')
    if (!/[^\0-\x7f]/.test(label)) return label
    if (/[*?]/.test(label))
      throw new InvalidPattern(text, 'a wildcard cannot stand beside letters outside ASCII in one label')
    const ascii = domainToASCII(label)
    if (ascii === '') throw new InvalidPattern(text, 'the host is not a valid international name')
    return ascii
  })
  const joined = labels.join('.')
  if (!/^[a-z0-9*?._-]+$/.test(joined)) throw new InvalidPattern(text, 'unsupported domain pattern syntax')
  // Wildcards never match addresses, so a rule that looks like one would be dead.
  if (/^[0-9*?.]+$/.test(joined) && /[0-9]/.test(joined))
    throw new InvalidPattern(text, 'wildcards do not match addresses; write each address as a rule of its own')
  return joined
}

/**
 * Whole-name match of a glob in which `*` is any run of characters, dots included, and `?` exactly one.
 * Linear backtracking to the latest `*` only, so the work is bounded by glob × host.
 */
export function matchesGlob(glob: string, host: string): boolean {
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

/** True when `pattern` names the canonical `host`, ports aside. */
export function patternNames(pattern: HostPattern, host: string): boolean {
  switch (pattern.kind) {
    case 'any':
      return true
    case 'exact':
      return pattern.host === host || pattern.host === withoutZone(host)
    case 'below':
      return host.endsWith(`.${pattern.host}`) && !isAddress(host)
    case 'apex':
      return (host === pattern.host || host.endsWith(`.${pattern.host}`)) && !isAddress(host)
    case 'wildcard':
      return !isAddress(host) && matchesGlob(pattern.glob, host)
  }
}

/** `fe80::1%eth0` without its zone: a rule for the address names it on every interface. */
export function withoutZone(host: string): string {
  const percent = host.indexOf('%')
  return percent < 0 ? host : host.slice(0, percent)
}
