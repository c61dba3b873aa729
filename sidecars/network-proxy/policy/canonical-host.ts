/**
 * The one spelling of a host. Rules, requests, dialled names, SNI, records and the window all compare
 * this form and nothing else: two spellings of one destination must never be two destinations.
 */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** A host text that names no destination; `message` is a sentence part such as "contains a space". */
export class InvalidHost extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'InvalidHost'
  }
}

// Whatever the URL parser would decode, cut off or reinterpret has to go before it sees the text.
const FORBIDDEN = /[\0-\x20\x7f%@/\\?#<>^|`{}"*]/
const MAX_HOST_LENGTH = 253
const ZONE = /^[A-Za-z0-9_.-]{1,32}$/
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * Canonical form of a host: ASCII lower case without trailing dot, IPv4 in dotted decimal, IPv6
 * compressed without brackets (zone kept as `%zone`), IPv4-mapped IPv6 as IPv4. Numeric spellings that
 * the C library would read as an address (`127.1`, `0x7f.1`, `2130706433`) become that address.
 * @throws InvalidHost
 */
export function canonicalHost(text: string): string {
  const known = cache.get(text)
  if (known !== undefined) return known
  const canonical = compute(text)
  // Bounded by forgetting everything: a flood of names costs a recomputation, never memory.
  if (cache.size >= 2048) cache.clear()
  cache.set(text, canonical)
  return canonical
}
const cache = new Map<string, string>()

function compute(text: string): string {
  if (text.startsWith('[')) {
    if (!text.endsWith(']')) throw new InvalidHost('has an opening bracket without a closing one')
    return canonicalIpv6(text.slice(1, -1))
  }
  if (text.includes(':')) return canonicalIpv6(text)
  return canonicalName(text)
}

function canonicalIpv6(text: string): string {
  const percent = text.indexOf('%')
  const address = percent < 0 ? text : text.slice(0, percent)
  if (isIP(address) !== 6) throw new InvalidHost('is not an IPv6 address')
  const compressed = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  if (percent < 0) return unmapped(compressed)
  const zone = text.slice(percent + (text.startsWith('%25', percent) ? 3 : 1))
  if (!ZONE.test(zone)) throw new InvalidHost('has an invalid IPv6 zone')
  return `${compressed}%${zone}`
}

function unmapped(ipv6: string): string {
  const match = MAPPED.exec(ipv6)
  if (!match) return ipv6
  const [high, low] = [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function canonicalName(text: string): string {
  if (FORBIDDEN.test(text)) throw new InvalidHost('contains a character that no host name has')
  let name = text.toLowerCase()
  if (name.endsWith('.')) name = name.slice(0, -1)
  if (name === '') throw new InvalidHost('is empty')
  if (/[^\0-\x7f]/.test(name)) {
    name = domainToASCII(name)
    if (name === '') throw new InvalidHost('is not a valid international name')
  }
  if (name.startsWith('.') || name.includes('..') || name.endsWith('.')) throw new InvalidHost('has an empty label')
  if (name.length > MAX_HOST_LENGTH) throw new InvalidHost(`is longer than ${MAX_HOST_LENGTH} characters`)
  let host: string
  try {
    host = new URL(`http://${name}/`).hostname
  } catch {
    throw new InvalidHost('is not a valid host name')
  }
  if (host === '' || host.startsWith('[')) throw new InvalidHost('is not a valid host name')
  return host
}

/** True for a canonical host that is an address rather than a name. */
export function isAddress(host: string): boolean {
  return isIP(host) !== 0
}

/** `host:port` as it stands in a Host header or a CONNECT target. */
export function formatAuthority(host: string, port: number): string {
  return `${bracketed(host)}:${port}`
}

/** The host as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

export interface Authority {
  host: string
  /** Absent when the text had none. */
  port: number | undefined
}

/**
 * Reads `host`, `host:port` or `[v6]:port`.
 * @throws InvalidHost also for user-info and for ports outside 1..65535
 */
export function parseAuthority(text: string): Authority {
  const bracket = text.lastIndexOf(']')
  const colon = text.indexOf(':', bracket + 1)
  if (colon < 0) return { host: canonicalHost(text), port: undefined }
  const digits = text.slice(colon + 1)
  if (bracket < 0 && digits.includes(':')) throw new InvalidHost('is an IPv6 address without brackets')
  if (!/^\d{1,5}$/.test(digits)) throw new InvalidHost('has a port that is not a number')
  const port = Number(digits)
  if (port < 1 || port > 65535) throw new InvalidHost('has a port outside 1..65535')
  return { host: canonicalHost(text.slice(0, colon)), port }
}
