/** The proxy above this one, as the environment of the process names it. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { InvalidHost } from '../../protocol/host-pattern.ts'
import { classifyAddress, isLocalhostName } from '../policy/address-guard.ts'
import { readHost } from '../policy/authority.ts'

/** Where to reach a parent proxy. */
export interface ParentRoute {
  host: string
  port: number
  /** The connection to the parent itself is TLS. */
  tls: boolean
  /** Value of Proxy-Authorization for the parent, and for nobody else. */
  authorization: string | undefined
}

type Environment = Record<string, string | undefined>

export class ParentProxies {
  /** Settings that cannot be used, one sentence each. */
  readonly warnings: string[] = []
  private readonly plain: ParentRoute | undefined
  private readonly secure: ParentRoute | undefined
  private readonly bypass: readonly BypassEntry[]

  /**
   * `isOwnListener` keeps a proxy that finds itself in the environment from talking to itself. With
   * `leadsEverywhere` the parent is the only way out, to this machine as well.
   */
  constructor(
    environment: Environment,
    isOwnListener: (host: string, port: number) => boolean,
    private readonly leadsEverywhere = false,
  ) {
    const read = (name: string) => this.readRoute(name, environment, isOwnListener)
    const [http, https, all] = [read('HTTP_PROXY'), read('HTTPS_PROXY'), read('ALL_PROXY')]
    this.plain = http ?? all
    this.secure = https ?? http ?? all
    this.bypass = readBypass(environment.NO_PROXY ?? environment.no_proxy ?? '')
  }

  private readRoute(
    name: string,
    environment: Environment,
    isOwnListener: (host: string, port: number) => boolean,
  ): ParentRoute | undefined {
    const text = environment[name] || environment[name.toLowerCase()]
    if (text === undefined || text.trim() === '') return undefined
    try {
      const url = new URL(text.includes('://') ? text : `http://${text}`)
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        this.warnings.push(`${name} is ignored: a parent proxy is reached by http or https, not ${url.protocol}//`)
        return undefined
      }
      const tls = url.protocol === 'https:'
      const host = readHost(url.hostname)
      const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port)
      if (isOwnListener(host, port)) {
        this.warnings.push(`${name} is ignored: it names this proxy itself`)
        return undefined
      }
      return { host, port, tls, authorization: basicCredentials(url) }
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof InvalidHost)) throw error
      this.warnings.push(`${name} is ignored: it is not the URL of a proxy`)
      return undefined
    }
  }

  /**
   * The parent for a destination; undefined = go there directly. `tunnelled`: CONNECT and TLS rather than
   * plain requests. This machine is never reached through somebody else.
   */
  routeFor(host: string, port: number, tunnelled: boolean): ParentRoute | undefined {
    const route = tunnelled ? this.secure : this.plain
    if (!route || this.leadsEverywhere) return route
    if (isLocalhostName(host) || classifyAddress(host) === 'loopback') return undefined
    return this.bypass.some((entry) => entry(host, port)) ? undefined : route
  }
}

function basicCredentials(url: URL): string | undefined {
  if (url.username === '' && url.password === '') return undefined
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

type BypassEntry = (host: string, port: number) => boolean

/** NO_PROXY: `*`, addresses, CIDR ranges, names (which mean what is below them too), each with an optional port. */
function readBypass(text: string): BypassEntry[] {
  return text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map(readBypassEntry)
}

function readBypassEntry(entry: string): BypassEntry {
  if (entry === '*') return () => true
  if (entry.includes('/')) return inRange(entry)
  const match = /^(.*?)(?::(\d{1,5}))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry)
  const limit = match?.[2] === undefined ? undefined : Number(match[2])
  const name = (match?.[1] ?? entry)
    .replace(/^\*?\./, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  return (host, port) => (limit === undefined || limit === port) && (host === name || host.endsWith(`.${name}`))
}

function inRange(cidr: string): BypassEntry {
  try {
    const range = ipaddr.parseCIDR(cidr)
    return (host) => {
      if (isIP(host) === 0) return false
      const address = ipaddr.parse(host)
      return address.kind() === range[0].kind() && address.match(range)
    }
  } catch {
    // An entry that nobody can read bypasses nothing.
    return () => false
  }
}
