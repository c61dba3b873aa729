/** Heads as they leave the proxy: hop-by-hop fields gone, framing said once, everything else as it came. */
import { formatAuthority, bracketed } from '../policy/authority.ts'
import { isHopByHop } from './fields.ts'
import type { RequestHead } from './request-head.ts'
import type { RequestTarget } from './request-target.ts'
import type { ResponseHead } from './response-head.ts'

/** How the next hop is addressed. */
export interface RequestForm {
  /** A parent proxy gets the absolute form and, when it wants one, its own credential. */
  parent?: { proxyAuthorization: string | undefined }
}

/** The Host field's value: the canonical host, with the port unless it is the scheme's own. */
export function hostValue(target: Pick<RequestTarget, 'host' | 'port' | 'tls'>): string {
  return target.port === (target.tls ? 443 : 80) ? bracketed(target.host) : formatAuthority(target.host, target.port)
}

/** The request head for the origin, in origin form with the canonical Host. */
export function requestHeadText(head: RequestHead, target: RequestTarget, form: RequestForm = {}): string {
  const host = hostValue(target)
  const at = form.parent === undefined ? target.path : `http://${host}${target.path === '*' ? '' : target.path}`
  let text = `${head.method} ${at} HTTP/1.1\r\nHost: ${host}\r\n`
  const { names, keys, values } = head.fields
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    if (key === 'host' || isHopByHop(key, head.connectionTokens)) continue
    text += `${names[i]}: ${values[i]}\r\n`
  }
  if (form.parent?.proxyAuthorization !== undefined)
    text += `Proxy-Authorization: ${form.parent.proxyAuthorization}\r\n`
  if (head.framing.kind === 'chunked') text += 'Transfer-Encoding: chunked\r\n'
  if (head.isWebSocketUpgrade) text += 'Upgrade: websocket\r\nConnection: Upgrade\r\n'
  return `${text}\r\n`
}

export interface ResponseForm {
  /** Version of the client's request. */
  minorVersion: 0 | 1
  /** The client's connection lives on after this response. */
  keepAlive: boolean
  /** The body goes out chunked. */
  chunked: boolean
}

/** The response head for the client. */
export function responseHeadText(head: ResponseHead, form: ResponseForm): string {
  let text = `HTTP/1.1 ${head.status} ${head.phrase}\r\n`
  const { names, keys, values } = head.fields
  for (let i = 0; i < keys.length; i++)
    if (!isHopByHop(keys[i]!, head.connectionTokens)) text += `${names[i]}: ${values[i]}\r\n`
  if (form.chunked) text += 'Transfer-Encoding: chunked\r\n'
  if (head.status === 101) text += 'Upgrade: websocket\r\nConnection: Upgrade\r\n'
  else if (head.status >= 200 && !form.keepAlive) text += 'Connection: close\r\n'
  else if (form.minorVersion === 0 && form.keepAlive) text += 'Connection: keep-alive\r\n'
  return `${text}\r\n`
}
