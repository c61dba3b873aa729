/** `host:port` texts, read into the canonical host that everything in the house compares. */
import { canonicalHost, InvalidHost } from '../../protocol/host-pattern.ts'

const known = new Map<string, string>()
const MAX_KNOWN = 2048

/** `canonicalHost` with a memory: the same few spellings come with every request. @throws InvalidHost */
export function readHost(text: string): string {
  const remembered = known.get(text)
  if (remembered !== undefined) return remembered
  const host = canonicalHost(text)
  // Bounded by forgetting everything: a flood of names costs time, never memory.
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(text, host)
  return host
}

export interface Authority {
  host: string
  /** Absent when the text had none. */
  port: number | undefined
}

/**
 * Reads `host`, `host:port` or `[v6]:port`.
 * @throws InvalidHost also for ports outside 1..65535 and for IPv6 addresses without brackets
 */
export function parseAuthority(text: string): Authority {
  const colon = text.indexOf(':', text.lastIndexOf(']') + 1)
  if (colon < 0) return { host: readHost(text), port: undefined }
  const digits = text.slice(colon + 1)
  const port = Number(digits)
  if (!/^\d{1,5}$/.test(digits) || port < 1 || port > 65535)
    throw new InvalidHost(`${JSON.stringify(text)} is not a host with a port from 1 to 65535`)
  return { host: readHost(text.slice(0, colon)), port }
}

/** `host:port` as it stands in a Host header or a CONNECT target. */
export function formatAuthority(host: string, port: number): string {
  return `${bracketed(host)}:${port}`
}

/** The host as it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
