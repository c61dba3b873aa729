/** `host:port` texts, read into the canonical host that everything in the house compares. */
import { canonicalHost, InvalidHost } from '../../protocol/host-pattern.ts'
import { SpellingMemory } from './spelling-memory.ts'

const MAX_REMEMBERED = 2048

const hosts = new SpellingMemory(canonicalHost, MAX_REMEMBERED)
const authorities = new SpellingMemory(readAuthority, MAX_REMEMBERED)

/** `canonicalHost` with a memory. @throws InvalidHost */
export function readHost(text: string): string {
  return hosts.meaningOf(text)
}

export interface Authority {
  readonly host: string
  /** Absent when the text had none. */
  readonly port: number | undefined
}

/**
 * Reads `host`, `host:port` or `[v6]:port`.
 * @throws InvalidHost also for ports outside 1..65535 and for IPv6 addresses without brackets
 */
export function parseAuthority(text: string): Authority {
  return authorities.meaningOf(text)
}

function readAuthority(text: string): Authority {
  const colon = text.indexOf(':', text.lastIndexOf(']') + 1)
  if (colon < 0) return { host: canonicalHost(text), port: undefined }
  const digits = text.slice(colon + 1)
  const port = Number(digits)
  if (!/^\d{1,5}$/.test(digits) || port < 1 || port > 65535)
    throw new InvalidHost(`${JSON.stringify(text)} is not a host with a port from 1 to 65535`)
  return { host: canonicalHost(text.slice(0, colon)), port }
}

/** `host:port` as it stands in a Host header or a CONNECT target. */
export function formatAuthority(host: string, port: number): string {
  return `${bracketed(host)}:${port}`
}

/** The host as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
