import { isIP } from 'node:net'
import type { HttpRequestParams } from '../../protocol/exec-http.ts'
import { Base64Error, Base64Text } from '../wire/base64-text.ts'
import { WireError } from '../wire/wire-error.ts'

/** Variables of the server's environment. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface CallHeader {
  /** Lower case. */
  name: string
  /** One character per byte. */
  value: string
  /** Came from the server's environment: never sent to another place than the one it was meant for. */
  isSecret: boolean
}

/** A checked `http/request`. */
export interface HttpCall {
  method: string
  url: URL
  headers: CallHeader[]
  body: Buffer | null
  timeoutMs: number | null
  followsRedirects: boolean
}

/** RFC 9110 5.6.2 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/

/** @throws WireError naming the part that cannot be sent; never with a header's value */
export function readHttpCall(params: HttpRequestParams, environment: Environment): HttpCall {
  if (!TOKEN.test(params.method)) throw invalid('method is invalid: invalid HTTP method')
  return {
    method: params.method,
    url: readUrl(params.url),
    headers: params.headers.map((header) => readHeader(header, environment)),
    body: params.bodyBase64 === undefined ? null : readBody(params.bodyBase64),
    timeoutMs: params.timeoutMs ?? null,
    followsRedirects: params.redirectPolicy === 'follow',
  }
}

function readUrl(text: string): URL {
  if (!/^\s*[a-z][a-z0-9+.-]*:/i.test(text)) throw invalid('url is invalid: relative URL without a base')
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw invalid(`url is invalid: ${/^\s*https?:\/*$/i.test(text) ? 'empty host' : 'it cannot be parsed'}`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid(`only supports http and https URLs, got ${url.protocol.slice(0, -1)}`)
  return url
}

function readHeader({ name, value, valueEnvVar }: HttpRequestParams['headers'][number], environment: Environment) {
  if (!TOKEN.test(name)) throw invalid('header name is invalid: invalid HTTP header name')
  const lowerName = name.toLowerCase()
  const bytes = Buffer.from(value + secretOf(lowerName, valueEnvVar, environment), 'utf8').toString('latin1')
  if (!HEADER_VALUE.test(bytes)) throw invalid(`header value is invalid for ${lowerName}: failed to parse header value`)
  return { name: lowerName, value: bytes, isSecret: valueEnvVar !== undefined }
}

function secretOf(name: string, variable: string | undefined, environment: Environment): string {
  if (variable === undefined) return ''
  const value = environment[variable]
  if (value === undefined) throw invalid(`header ${name} requires executor environment variable ${variable}`)
  if (value === '') throw invalid(`header ${name} requires a non-empty executor environment variable ${variable}`)
  return value
}

function readBody(base64: string): Buffer {
  try {
    return new Base64Text(base64).decode()
  } catch (error) {
    if (!(error instanceof Base64Error)) throw error
    throw new WireError('invalidParams', error.message)
  }
}

function invalid(what: string): WireError {
  return new WireError('invalidParams', `http/request ${what}`)
}

/** The URL as it may be told in errors and logs: no user, no password, no query, no fragment. */
export function publicUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`
}

/** Host name for connecting: IPv6 without its brackets. */
export function connectHost(url: URL): string {
  const host = url.hostname
  return host.startsWith('[') && isIP(host.slice(1, -1)) === 6 ? host.slice(1, -1) : host
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}
