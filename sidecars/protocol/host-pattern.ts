/**
 * Hosts and host patterns in the one form that rule files, imported settings, the proxy, its records and the
 * window read and compare.
 *
 * Canonical host: ASCII (A-labels), lower case, no trailing dot, IPv6 compressed and without brackets,
 * IPv4 in dotted decimal whatever spelling came in. Pattern: a canonical host, `*.host` (everything
 * below host), `**.host` (host and everything below), `*`, or a name with inline `*` and `?`; behind it
 * perhaps `:port`. Wildcards never allow an IP literal, so a literal is only ever allowed when it is
 * written out.
 */

/** The text is not a host or pattern; the message says why, for people. */
export class InvalidHost extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'InvalidHost'
  }
}

// What a host may not hold although a URL parser would swallow, split or decode it.
const FORBIDDEN = /[\u0000-\u0020\u007f%@/\\?#"<>^`{|}]/
const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * The canonical form of a host as a client or a person wrote it (no port, no scheme).
 * @throws InvalidHost
 */
export function canonicalHost(text: string): string {
  if (text === '') throw new InvalidHost('the host is empty')
  if (text.length > 1000) throw new InvalidHost('the host is longer than 253 characters')
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (bare.includes(':')) return canonicalIpv6(bare)
  if (bare !== text || FORBIDDEN.test(text)) throw new InvalidHost(`${JSON.stringify(text)} is not a host name`)
  const host = parseAuthority(bare.replace(/[.\u3002\uff0e\uff61]$/, ''), text)
  if (host.length > 253) throw new InvalidHost('the host is longer than 253 characters')
  if (host.split('.').some((label) => label === '' || label.length > 63))
    throw new InvalidHost(`${JSON.stringify(text)} has an empty label or one of more than 63 characters`)
  return host
}

function canonicalIpv6(text: string): string {
  // A URL writes the zone's percent sign as %25 (RFC 6874); both spellings are one address.
  const [address = '', zone] = splitOnce(text.replace('%25', '%'), '%')
  if (zone !== undefined && !/^[A-Za-z0-9_.-]+$/.test(zone))
    throw new InvalidHost(`${JSON.stringify(text)} has an unreadable zone`)
  const host = parseAuthority(`[${address}]`, text).slice(1, -1)
  const mapped = MAPPED.exec(host)
  if (mapped) {
    const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)]
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  }
  return zone === undefined ? host : `${host}%${zone}`
}

/** The WHATWG parser reads `127.1`, `0x7f.1` and `2130706433` as the C library would, and does IDNA. */
function parseAuthority(authority: string, shown: string): string {
  try {
    const { hostname } = new URL(`http://${authority}/`)
    if (hostname !== '') return hostname
  } catch {
    // Said below, with the text that was given.
  }
  throw new InvalidHost(`${JSON.stringify(shown)} is not a host name or address`)
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** Whether a canonical host is an address rather than a name. */
export function isIpLiteral(host: string): boolean {
  return host.includes(':') || IPV4.test(host)
}

/** `exact`: the host itself; `below`: `*.host`; `within`: `**.host`; `any`: `*`; `glob`: matched over the whole name. */
export type HostPattern =
  | { kind: 'any' }
  | { kind: 'exact' | 'below' | 'within'; host: string }
  | { kind: 'glob'; glob: string }

/** A pattern with its port; without one it means every port. */
export type RulePattern = { port: number | undefined } & HostPattern

/** What a rule does with the hosts that its pattern names. */
export type PatternEffect = 'allow' | 'ask' | 'deny'

/** A pattern that cannot be used; `message` names the problem and what to write instead. */
export class InvalidPattern extends InvalidHost {
  constructor(pattern: string, problem: string) {
    super(`${JSON.stringify(pattern)}: ${problem}`)
    this.name = 'InvalidPattern'
  }
}

const GLOBAL_SPELLINGS = new Set(['*', '*.', '[*]', '**.*', '**.*.'])

/**
 * Reads the pattern of a rule with that effect. `port` is the rule's own, when it is written beside the
 * pattern.
 * @throws InvalidPattern
 */
export function parseRulePattern(text: string, effect: PatternEffect, port?: number): RulePattern {
  const trimmed = text.trim()
  if (trimmed === '') throw new InvalidPattern(text, 'the domain pattern is empty')
  if (trimmed.includes('://'))
    throw new InvalidPattern(text, 'a pattern is a host, not a URL; write the host without the scheme')
  if (/[{}\\/\s,]/.test(trimmed))
    throw new InvalidPattern(text, 'unsupported domain pattern syntax; write one host, *.host or **.host a rule')
  if (/[[\]]/.test(trimmed) && !/^\[[^[\]]+\](?::.*)?$/.test(trimmed))
    throw new InvalidPattern(text, 'brackets are only supported for IPv6 addresses, around the whole address')
  const split = splitPort(text, trimmed)
  if (port !== undefined && split.port !== undefined && port !== split.port)
    throw new InvalidPattern(text, `the pattern names port ${split.port} and the rule port ${port}; keep one of them`)
  const pattern = { port: port ?? split.port, ...parseHost(text, split.host) }
  if (effect !== 'allow' && pattern.port === undefined && meansEverything(pattern))
    throw new InvalidPattern(text, WHY_NOT_EVERYTHING[effect])
  return pattern
}

const WHY_NOT_EVERYTHING = {
  deny:
    'unsupported global wildcard in a deny rule. A deny beats every allow, so it would block everything, and ' +
    'hosts that no rule allows are refused without it. Remove the rule',
  ask:
    'unsupported global wildcard in an asking rule. Asking about every host is what happens without a rule; ' +
    'set unknownHost to "ask" instead',
}

function meansEverything(pattern: HostPattern): boolean {
  return pattern.kind === 'any' || (pattern.kind === 'glob' && /^[*?.]+$/.test(pattern.glob))
}

function splitPort(text: string, trimmed: string): { host: string; port: number | undefined } {
  const colon = trimmed.indexOf(':', trimmed.lastIndexOf(']') + 1)
  const isBareIpv6 = !trimmed.startsWith('[') && trimmed.includes(':', colon + 1)
  if (colon < 0 || isBareIpv6) return { host: trimmed, port: undefined }
  const digits = trimmed.slice(colon + 1)
  const port = Number(digits)
  if (!/^\d{1,5}$/.test(digits) || port < 1 || port > 65535)
    throw new InvalidPattern(text, `the port must be a number from 1 to 65535, not ${JSON.stringify(digits)}`)
  return { host: trimmed.slice(0, colon), port }
}

function parseHost(text: string, host: string): HostPattern {
  if (GLOBAL_SPELLINGS.has(host)) return { kind: 'any' }
  const [kind, rest] = host.startsWith('**.')
    ? (['within', host.slice(3)] as const)
    : host.startsWith('*.')
      ? (['below', host.slice(2)] as const)
      : (['exact', host] as const)
  if (rest.includes('**') || (kind === 'within' && rest.includes('*')))
    throw new InvalidPattern(text, 'unsupported repeated wildcard; ** is only allowed as **.host with a plain host')
  if (/[*?]/.test(rest)) return { kind: 'glob', glob: canonicalGlob(text, host) }
  const canonical = canonicalPart(text, rest)
  if (kind !== 'exact' && isIpLiteral(canonical))
    throw new InvalidPattern(text, 'a wildcard cannot stand in front of an address')
  return { kind, host: canonical }
}

function canonicalPart(text: string, host: string): string {
  try {
    return canonicalHost(host)
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
  // With a label behind it, digits of other scripts are not taken for an address.
  return canonicalPart(text, `${label}.a`).slice(0, -2)
}

/**
 * True when the pattern of a rule with that effect names the canonical `host`, ports aside. Wildcards never
 * allow an address, which has to be written out; asking about or denying any host means addresses too.
 */
export function patternNames(pattern: HostPattern, host: string, effect: PatternEffect): boolean {
  switch (pattern.kind) {
    case 'any':
      return effect !== 'allow' || !isIpLiteral(host)
    case 'exact':
      return host === pattern.host || withoutZone(host) === pattern.host
    case 'glob':
      return !isIpLiteral(host) && matchesGlob(pattern.glob, host)
    case 'below':
      return !isIpLiteral(host) && host.endsWith(`.${pattern.host}`)
    case 'within':
      return !isIpLiteral(host) && (host === pattern.host || host.endsWith(`.${pattern.host}`))
  }
}

/** A scoped address is also meant by a rule for the address without its zone. */
const withoutZone = (host: string): string => (host.includes('%') ? host.slice(0, host.indexOf('%')) : host)

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

/** Whether some host that the first pattern allows may be named by the second, whatever that one does. */
export function patternsOverlap(allowing: HostPattern, other: HostPattern): boolean {
  if (allowing.kind === 'any') return other.kind !== 'exact' || !isIpLiteral(other.host)
  if (other.kind === 'any') return true
  if (allowing.kind === 'exact') return patternNames(other, allowing.host, 'deny')
  if (other.kind === 'exact') return patternNames(allowing, other.host, 'allow')
  // Two globs can meet in ways that only trying would show.
  if (allowing.kind === 'glob' || other.kind === 'glob') return true
  const [a, b] = [allowing.host, other.host]
  return a === b || a.endsWith(`.${b}`) || b.endsWith(`.${a}`)
}

/** Whether each host and port that the narrow pattern names is named by the wide one, whose rule has that effect. */
export function patternCovers(wide: RulePattern, narrow: RulePattern, effect: PatternEffect): boolean {
  if (wide.port !== undefined && wide.port !== narrow.port) return false
  if (narrow.kind === 'exact') return patternNames(wide, narrow.host, effect)
  if (wide.kind === 'any') return true
  if (narrow.kind === 'glob' || wide.kind === 'glob') return formatHostPattern(wide) === formatHostPattern(narrow)
  if (wide.kind === 'exact' || narrow.kind === 'any') return false
  // A subtree lies inside another when its top does; with its top itself only if that is inside as well.
  return wide.host === narrow.host
    ? wide.kind === 'within' || narrow.kind === 'below'
    : patternNames(wide, narrow.host, effect)
}

/** The canonical text of a pattern without its port; equal text means equal pattern. */
export function formatHostPattern(pattern: HostPattern): string {
  switch (pattern.kind) {
    case 'any':
      return '*'
    case 'exact':
      return pattern.host
    case 'below':
      return `*.${pattern.host}`
    case 'within':
      return `**.${pattern.host}`
    case 'glob':
      return pattern.glob
  }
}

/** The canonical text of a pattern; parsing it gives the pattern back. */
export function formatRulePattern(pattern: RulePattern): string {
  const host = formatHostPattern(pattern)
  if (pattern.port === undefined) return host
  return `${host.includes(':') ? `[${host}]` : host}:${pattern.port}`
}
