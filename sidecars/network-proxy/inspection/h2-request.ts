/** HTTP/2 header lists, read into the fields that the rest of the proxy works with, and back. */
import type { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http2'
import { Fields, isHopByHop, isToken, MalformedHttp } from '../http/fields.ts'

export interface H2Request {
  method: string
  /** With the query. */
  path: string
  authority: string
  /** Regular fields, in order; cookies joined into one. */
  fields: Fields
  hasBody: boolean
  /** The whole body, when it was held to be looked into. */
  body?: Buffer
}

/**
 * Listens for header lists as they came: node:http2 gives them as the last argument, after the flags, which
 * its types leave out.
 */
export function onHeaderList(
  stream: EventEmitter,
  event: 'response' | 'headers' | 'trailers',
  listener: (list: string[], flags: number) => void,
): void {
  stream.on(event, (_headers: unknown, flags: number, list: string[]) => listener(list, flags))
}

/** @throws MalformedHttp for a list that is no request of HTTP/2 */
export function readH2Request(rawHeaders: readonly string[], endAfterHeaders: boolean): H2Request {
  const pseudo = new Map<string, string>()
  const fields = readFields(rawHeaders, pseudo)
  const method = pseudo.get(':method') ?? ''
  const authority = pseudo.get(':authority') ?? fields.get('host') ?? ''
  const path = pseudo.get(':path') ?? (method === 'CONNECT' ? '/' : '')
  if (!isToken(method)) throw new MalformedHttp('no usable :method')
  if (method !== 'CONNECT' && pseudo.get(':scheme') !== 'https')
    throw new MalformedHttp('a :scheme other than https inside a tunnel')
  if (!(path.startsWith('/') || path === '*') || /[^\x21-\x7e]/.test(path)) throw new MalformedHttp('no usable :path')
  if (fields.count('host') > 1 || (fields.has('host') && fields.get('host') !== authority))
    throw new MalformedHttp('host differs from :authority')
  fields.remove('host')
  return { method, path, authority, fields, hasBody: !endAfterHeaders }
}

/** The fields of a header list; pseudo fields go to `pseudo`. @throws MalformedHttp */
export function readFields(rawHeaders: readonly string[], pseudo: Map<string, string>): Fields {
  const fields = new Fields()
  const cookies: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    const value = rawHeaders[at + 1]!
    if (name.startsWith(':')) {
      if (pseudo.has(name)) throw new MalformedHttp(`more than one ${name}`)
      pseudo.set(name, value)
    } else if (!isToken(name) || /[\0\r\n]/.test(value)) throw new MalformedHttp('a header field that is not one')
    else if (name === 'cookie') cookies.push(value)
    else if (!isConnectionSpecific(name, value)) fields.add(name, value)
  }
  if (cookies.length > 0) fields.add('cookie', cookies.join('; '))
  return fields
}

/** `te: trailers` is the one such field that HTTP/2 knows (RFC 9113, 8.2.2). */
function isConnectionSpecific(name: string, value: string): boolean {
  return isHopByHop(name, []) && !(name === 'te' && value.toLowerCase() === 'trailers')
}

/** Fields as node:http2 takes them: several of one name as a list. */
export function h2Headers({ keys, values }: Fields): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {}
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]!
    const value = values[at]!
    if (isConnectionSpecific(key, value)) continue
    const known = headers[key]
    if (known === undefined) headers[key] = value
    else if (Array.isArray(known)) known.push(value)
    else headers[key] = [known, value]
  }
  return headers
}
