import { BlockList, isIP } from 'node:net'
import { connectHost, portOf, type Environment } from './http-call.ts'

/**
 * The proxy that the environment names for a URL, or null. `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY`
 * in either case (lower wins), `NO_PROXY` as a list of `*`, hosts with everything below them,
 * addresses and CIDR ranges.
 */
export function proxyFor(url: URL, environment: Environment): URL | null {
  const named = environmentValue(environment, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy')
  const text = named ?? environmentValue(environment, 'all_proxy')
  if (text === undefined || isExcluded(url, environmentValue(environment, 'no_proxy') ?? '')) return null
  try {
    return new URL(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  } catch {
    // As other programs do: a proxy that is no URL is as if it were not there.
    return null
  }
}

function environmentValue(environment: Environment, lowerName: string): string | undefined {
  const value = environment[lowerName] ?? environment[lowerName.toUpperCase()]
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}

function isExcluded(url: URL, list: string): boolean {
  const host = connectHost(url).toLowerCase()
  const family = isIP(host)
  return list
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => {
      if (entry === '') return false
      if (entry === '*') return true
      if (family !== 0) return matchesAddress(host, family, entry)
      const { name, port } = splitPort(entry)
      if (port !== null && port !== portOf(url)) return false
      return host === name || host.endsWith(`.${name}`)
    })
}

function splitPort(entry: string): { name: string; port: number | null } {
  const match = /^(.*):(\d+)$/.exec(entry)
  const bare = match ? (match[1] as string) : entry
  return { name: bare.replace(/^(\*\.|\.)/, ''), port: match ? Number(match[2]) : null }
}

function matchesAddress(host: string, family: number, entry: string): boolean {
  const [address = '', prefix] = entry.replace(/^\[|\]$/g, '').split('/')
  const kind = isIP(address)
  if (kind !== family) return false
  const bits = prefix === undefined ? (kind === 4 ? 32 : 128) : Number(prefix)
  if (!Number.isInteger(bits) || bits < 0 || bits > (kind === 4 ? 32 : 128)) return false
  const range = new BlockList()
  const type = kind === 4 ? 'ipv4' : 'ipv6'
  range.addSubnet(address, bits, type)
  return range.check(host, type)
}

/** `Proxy-Authorization` for the user in a proxy's URL, or null. */
export function proxyAuthorization(proxy: URL): string | null {
  if (proxy.username === '' && proxy.password === '') return null
  return basicAuthorization(proxy)
}

/** `Basic …` for the user in a URL. */
export function basicAuthorization(url: URL): string {
  const part = (text: string) => {
    try {
      return decodeURIComponent(text)
    } catch {
      return text
    }
  }
  return `Basic ${Buffer.from(`${part(url.username)}:${part(url.password)}`, 'utf8').toString('base64')}`
}
