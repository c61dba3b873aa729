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

const REQUEST_LINE = /^([^ ]+) ([^ ]+) HTTP\/1\.([01])(?:\r\n|$)/
const MAX_METHOD_LENGTH = 64

/**
 * Reads a request head: everything before the empty line, that line and the preceding CRLF excluded.
 * Strict on purpose; what two readers could take for two different requests is refused.
 * @throws MalformedHttp
 */
export function parseRequestHead(head: string): RequestHead {
  rejectStrayBytes(head)
  const line = REQUEST_LINE.exec(head)
  if (!line) throw new MalformedHttp('the request line is not "METHOD target HTTP/1.1"')
  const method = line[1]!
  const target = line[2]!
  if (method.length > MAX_METHOD_LENGTH || !isToken(method)) throw new MalformedHttp('the method is not a token')
  if (/[^\x21-\x7e]/.test(target)) throw new MalformedHttp('the request target is not ASCII')
  const minorVersion = line[3] === '1' ? 1 : 0
  const fields = parseFields(head, line[0].length)
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

function requestFraming(fields: Fields, minorVersion: 0 | 1): Framing {
  const length = contentLength(fields)
  if (!isChunked(fields))
    return length === undefined || length === 0 ? { kind: 'none' } : { kind: 'length', bytes: length }
  if (length !== undefined) throw new MalformedHttp('both Content-Length and Transfer-Encoding')
  if (minorVersion === 0) throw new MalformedHttp('Transfer-Encoding in an HTTP/1.0 request')
  return { kind: 'chunked' }
}
