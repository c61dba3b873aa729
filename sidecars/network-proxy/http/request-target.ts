/** Where a request wants to go: its target and its Host field, which must agree. */
import { InvalidHost } from '../../protocol/host-pattern.ts'
import { parseAuthority, type Authority } from '../policy/authority.ts'
import { MalformedHttp } from './fields.ts'
import type { RequestHead } from './request-head.ts'

export interface RequestTarget {
  host: string
  port: number
  /** `https` in absolute form asks this proxy to speak TLS to the origin. */
  tls: boolean
  /** Path and query for the origin, or `*`. */
  path: string
}

// User-info is read so narrowly because a backslash or a second @ in it means another host to some parsers.
const ABSOLUTE = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(?:[\w.~!$&'()*+,;=:%-]*@)?([^/?#@]*)((?:[/?][^#]*)?)$/
const PORTS: Record<string, { port: number; tls: boolean }> = {
  http: { port: 80, tls: false },
  ws: { port: 80, tls: false },
  https: { port: 443, tls: true },
  wss: { port: 443, tls: true },
}

/**
 * Target of a plain request: absolute form, or origin form with a Host (as a reverse proxy would get).
 * @throws MalformedHttp naming what is missing or does not agree
 */
export function requestTarget(head: RequestHead): RequestTarget {
  const host = hostField(head)
  if (head.target.startsWith('/') || head.target === '*') {
    if (host === undefined) throw new MalformedHttp('missing host')
    return { host: host.host, port: host.port ?? 80, tls: false, path: head.target }
  }
  const absolute = ABSOLUTE.exec(head.target)
  if (!absolute) throw new MalformedHttp('the target is neither an absolute URL nor a path')
  const scheme = PORTS[absolute[1]!.toLowerCase()]
  if (!scheme) throw new MalformedHttp(`the scheme ${absolute[1]} is not supported; use http or CONNECT`)
  const authority = readAuthority(absolute[2]!, 'the target')
  const port = authority.port ?? scheme.port
  if (host !== undefined && (host.host !== authority.host || (host.port ?? scheme.port) !== port))
    throw new MalformedHttp('Host header does not match request target')
  return { host: authority.host, port, tls: scheme.tls, path: pathOf(absolute[3]!, head.method) }
}

/**
 * Target of a request inside an inspected tunnel: the tunnel's own host and port, whatever else the request
 * would like. @throws MalformedHttp
 */
export function tunnelledTarget(head: RequestHead, tunnel: { host: string; port: number }): RequestTarget {
  const host = hostField(head)
  if (host !== undefined) requireTunnel(host, tunnel)
  if (head.target.startsWith('/') || head.target === '*')
    return { host: tunnel.host, port: tunnel.port, tls: true, path: head.target }
  const target = requestTarget(head)
  if (!target.tls) throw new MalformedHttp('a target that is not https inside a tunnel')
  requireTunnel(target, tunnel)
  return target
}

/** @throws MalformedHttp when an authority inside a tunnel names something else than the tunnel does */
export function requireTunnel(named: Authority, { host, port }: { host: string; port: number }): void {
  if (named.host !== host || (named.port !== undefined && named.port !== port))
    throw new MalformedHttp('host mismatch: the request names another host than its tunnel')
}

function pathOf(rest: string, method: string): string {
  if (rest === '') return method === 'OPTIONS' ? '*' : '/'
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Where a client has connected to. */
export interface ListenerAddress {
  localAddress?: string | undefined
  localPort?: number | undefined
}

/**
 * Target of a CONNECT. The port is required; a Host field, when there is one, must name the same host, or
 * this proxy itself, as clients do that write what they are connected to. The target alone decides.
 * @throws MalformedHttp
 */
export function connectTarget(head: RequestHead, listener: ListenerAddress): { host: string; port: number } {
  const authority = readAuthority(head.target, 'the CONNECT target')
  if (authority.port === undefined) throw new MalformedHttp('the CONNECT target has no port')
  if (head.fields.count('host') > 1) throw new MalformedHttp('multiple Host headers')
  const text = head.fields.get('host')
  if (text !== undefined && text !== '') {
    const host = readAuthority(text, 'the Host header')
    // Clients leave the port of the target out as often as not; a different one is another destination.
    const agrees = host.host === authority.host && (host.port === undefined || host.port === authority.port)
    if (!agrees && !namesListener(host, listener)) throw new MalformedHttp('Host header does not match request target')
  }
  return { host: authority.host, port: authority.port }
}

/** With the very port, so that no other server on this machine is meant. */
function namesListener({ host, port }: Authority, { localAddress, localPort }: ListenerAddress): boolean {
  if (port === undefined || port !== localPort) return false
  return host === localAddress || host === 'localhost' || /^127\.|^::1$/.test(host)
}

/** The one Host field. HTTP/1.1 must have it, HTTP/1.0 may. */
function hostField(head: RequestHead): Authority | undefined {
  const count = head.fields.count('host')
  if (count > 1) throw new MalformedHttp('multiple Host headers')
  const text = head.fields.get('host')
  if (text === undefined) {
    if (head.minorVersion === 1) throw new MalformedHttp('missing host')
    return undefined
  }
  return readAuthority(text, 'the Host header')
}

function readAuthority(text: string, what: string): Authority {
  try {
    return parseAuthority(text)
  } catch (error) {
    if (!(error instanceof InvalidHost)) throw error
    throw new MalformedHttp(
      text === '' || text.startsWith(':') ? `missing host in ${what}` : `no usable host in ${what}`,
    )
  }
}
