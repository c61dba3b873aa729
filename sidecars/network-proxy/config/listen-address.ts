/** Where the proxy listens: lenient reading of address texts, strict limits on what they may mean. */
import { isIP, isIPv6 } from 'node:net'
import { classifyAddress } from '../policy/address-guard.ts'
import { canonicalHost, InvalidHost } from '../../protocol/host-pattern.ts'
import type { ListenAt } from '../listener.ts'

const LOOPBACK = '127.0.0.1'

/**
 * Reads a listener address such as `http://127.0.0.1:3128`, `localhost`, `[::1]:80` or `::1`. Scheme,
 * user-info, path and query are ignored; a missing or unreadable port is `defaultPort`; a name other
 * than an address means this machine.
 * @throws RangeError "missing host" for an empty text
 */
export function parseListenAddress(text: string, defaultPort: number): ListenAt {
  const trimmed = text.trim()
  if (trimmed === '') throw new RangeError('missing host')
  if (isIPv6(trimmed)) return { host: bindHost(trimmed), port: defaultPort }
  try {
    // Another scheme keeps a default port of 80 from vanishing.
    const url = new URL(
      /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed.replace(/^[^:]+/, 'gatehouse') : `gatehouse://${trimmed}`,
    )
    if (url.hostname === '') throw new RangeError('missing host')
    return { host: bindHost(url.hostname), port: url.port === '' ? defaultPort : Number(url.port) }
  } catch (error) {
    if (error instanceof RangeError) throw error
    return fromPieces(trimmed, defaultPort)
  }
}

function fromPieces(text: string, defaultPort: number): ListenAt {
  const authority = text
    .replace(/^[^/]*:\/\//, '')
    .replace(/[/?#].*$/, '')
    .replace(/^.*@/, '')
  const bracketed = /^(\[[^\]]*\])(?::(.*))?$/.exec(authority)
  const [host, port] = bracketed
    ? [bracketed[1]!, bracketed[2]]
    : authority.split(':').length === 2
      ? (authority.split(':') as [string, string])
      : [authority, undefined]
  if (host === '') throw new RangeError('missing host')
  const number = port !== undefined && /^\d{1,5}$/.test(port) ? Number(port) : defaultPort
  return { host: bindHost(host), port: number <= 65535 ? number : defaultPort }
}

function bindHost(host: string): string {
  try {
    const canonical = canonicalHost(host)
    return isIP(canonical) === 0 ? LOOPBACK : canonical
  } catch (error) {
    if (error instanceof InvalidHost) return LOOPBACK
    throw error
  }
}

export interface Clamped {
  at: ListenAt
  /** One sentence when the address was changed or is dangerous. */
  warning: string | undefined
}

/**
 * Keeps a listener on loopback. Anything else needs the dangerous flag, and not even that helps when
 * unix sockets may be reached through the proxy.
 */
export function clampToLoopback(
  at: ListenAt,
  key: string,
  permissions: { allowNonLoopback: boolean; reachesUnixSockets: boolean },
): Clamped {
  if (classifyAddress(at.host) === 'loopback') return { at, warning: undefined }
  if (!permissions.allowNonLoopback)
    return clamped(at, `set dangerously_allow_non_loopback_proxy to listen on ${at.host}`)
  if (permissions.reachesUnixSockets)
    return clamped(at, 'the proxy may reach unix sockets, so it never leaves loopback')
  return { at, warning: `${key}: listening on ${at.host} lets other machines use this proxy and its permissions` }

  function clamped({ port }: ListenAt, why: string): Clamped {
    return { at: { host: LOOPBACK, port }, warning: `${key}: listening on ${LOOPBACK}:${port} instead; ${why}` }
  }
}
