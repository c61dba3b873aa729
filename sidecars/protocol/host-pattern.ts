/**
 * Hosts and host patterns in the one form that rules, requests, log and window compare.
 *
 * Canonical host: ASCII (A-labels), lower case, no trailing dot, IPv6 compressed and without brackets,
 * IPv4 in dotted decimal whatever spelling came in. Pattern: a canonical host, `*.host` (everything
 * below host), `**.host` (host and everything below) or `*`. Wildcards never match IP literals, so a
 * literal is only ever meant when it is written out.
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

/** `exact`: the host itself; `below`: `*.host`; `within`: `**.host`; `any`: `*`. */
export type HostPattern = { kind: 'any' } | { kind: 'exact' | 'below' | 'within'; host: string }

/**
 * Reads a pattern and brings its host into canonical form.
 * @throws InvalidHost, e.g. for a URL, a CIDR range, a port or a wildcard elsewhere than in front
 */
export function parseHostPattern(text: string): HostPattern {
  if (text === '*') return { kind: 'any' }
  if (text.includes('://')) throw new InvalidHost(`${JSON.stringify(text)} is a URL; write the host alone`)
  const [kind, rest] = text.startsWith('**.')
    ? (['within', text.slice(3)] as const)
    : text.startsWith('*.')
      ? (['below', text.slice(2)] as const)
      : (['exact', text] as const)
  if (rest.includes('*'))
    throw new InvalidHost(`${JSON.stringify(text)}: a wildcard may only stand in front, as "*." or "**."`)
  if (/^[^:[\]]+:\d*$/.test(rest))
    throw new InvalidHost(`${JSON.stringify(text)} holds a port; write the host alone and the port as port=`)
  const host = canonicalHost(rest)
  if (kind !== 'exact' && isIpLiteral(host))
    throw new InvalidHost(`${JSON.stringify(text)}: a wildcard cannot stand in front of an address`)
  return { kind, host }
}

/** The canonical text of a pattern; equal text means equal pattern. */
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
  }
}

/** Whether a canonical host is meant by the pattern. */
export function hostMatches(pattern: HostPattern, host: string): boolean {
  if (pattern.kind === 'exact') return host === pattern.host || withoutZone(host) === pattern.host
  if (isIpLiteral(host)) return false
  if (pattern.kind === 'any') return true
  return host.endsWith(`.${pattern.host}`) || (pattern.kind === 'within' && host === pattern.host)
}

/** A scoped address is also meant by a rule for the address without its zone. */
const withoutZone = (host: string): string => (host.includes('%') ? host.slice(0, host.indexOf('%')) : host)

/** Whether some host could be meant by both patterns. */
export function patternsOverlap(a: HostPattern, b: HostPattern): boolean {
  if (a.kind === 'any') return b.kind !== 'exact' || !isIpLiteral(b.host)
  if (b.kind === 'any') return patternsOverlap(b, a)
  if (a.kind === 'exact') return hostMatches(b, a.host)
  if (b.kind === 'exact') return hostMatches(a, b.host)
  return a.host === b.host || a.host.endsWith(`.${b.host}`) || b.host.endsWith(`.${a.host}`)
}
