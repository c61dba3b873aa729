/** The head of a request as a client sent it. */
import {
  contentLength,
  isChunked,
  isToken,
  MalformedHttp,
  parseFields,
  rejectStrayBytes,
  type Fields,
  type Framing,
} from './fields.ts'

export interface RequestHead {
  method: string
  target: string
  /** HTTP/1.x. */
  minorVersion: 0 | 1
  fields: Fields
  framing: Framing
  /** What Connection and Proxy-Connection list, lower case. */
  connectionTokens: string[]
  /** The client lets the connection live on after the answer. */
  keepAlive: boolean
  expectsContinue: boolean
  isWebSocketUpgrade: boolean
}

const MAX_METHOD_LENGTH = 64
const VERSION = ' HTTP/1.'

/**
 * Reads a request head: everything before the empty line, that line and the preceding CRLF excluded.
 * Strict on purpose; what two readers could take for two different requests is refused.
 * @throws MalformedHttp
 */
export function parseRequestHead(head: string): RequestHead {
  rejectStrayBytes(head)
  const { method, target, minorVersion, length } = parseRequestLine(head)
  const fields = parseFields(head, length)
  const connectionTokens = fields.tokens('connection')
  if (fields.has('proxy-connection')) connectionTokens.push(...fields.tokens('proxy-connection'))
  return {
    method,
    target,
    minorVersion,
    fields,
    framing: requestFraming(fields, minorVersion),
    connectionTokens,
    keepAlive: minorVersion === 1 ? !connectionTokens.includes('close') : connectionTokens.includes('keep-alive'),
    expectsContinue: minorVersion === 1 && fields.get('expect')?.toLowerCase() === '100-continue',
    isWebSocketUpgrade:
      method === 'GET' &&
      minorVersion === 1 &&
      connectionTokens.includes('upgrade') &&
      fields.get('upgrade')?.toLowerCase() === 'websocket',
  }
}

interface RequestLine extends Pick<RequestHead, 'method' | 'target' | 'minorVersion'> {
  /** With its line end, if it has one. */
  length: number
}

function parseRequestLine(head: string): RequestLine {
  const lineEnd = head.indexOf('\r\n')
  const end = lineEnd < 0 ? head.length : lineEnd
  const versionAt = end - VERSION.length - 1
  const methodEnd = head.indexOf(' ')
  const minor = head.charCodeAt(end - 1) - DIGIT_ZERO
  if (
    methodEnd < 1 ||
    versionAt <= methodEnd + 1 ||
    !head.startsWith(VERSION, versionAt) ||
    (minor !== 0 && minor !== 1)
  )
    throw new MalformedHttp(NO_REQUEST_LINE)
  const target = head.slice(methodEnd + 1, versionAt)
  if (target.includes(' ')) throw new MalformedHttp(NO_REQUEST_LINE)
  const method = head.slice(0, methodEnd)
  if (method.length > MAX_METHOD_LENGTH || !isToken(method)) throw new MalformedHttp('the method is not a token')
  if (/[^\x21-\x7e]/.test(target)) throw new MalformedHttp('the request target is not ASCII')
  return { method, target, minorVersion: minor, length: lineEnd < 0 ? end : end + 2 }
}
const NO_REQUEST_LINE = 'the request line is not "METHOD target HTTP/1.1"'
const DIGIT_ZERO = 0x30

function requestFraming(fields: Fields, minorVersion: 0 | 1): Framing {
  const length = contentLength(fields)
  if (!isChunked(fields))
    return length === undefined || length === 0 ? { kind: 'none' } : { kind: 'length', bytes: length }
  if (length !== undefined) throw new MalformedHttp('both Content-Length and Transfer-Encoding')
  if (minorVersion === 0) throw new MalformedHttp('Transfer-Encoding in an HTTP/1.0 request')
  return { kind: 'chunked' }
}
