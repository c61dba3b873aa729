/** The head of a response as an origin (or a parent proxy) sent it. */
import {
  contentLength,
  isChunked,
  MalformedHttp,
  parseFields,
  rejectStrayBytes,
  type Fields,
  type Framing,
} from './fields.ts'

export interface ResponseHead {
  status: number
  /** The phrase after the status, possibly empty. */
  phrase: string
  fields: Fields
  /** How the body ends, for a response to a request of the given method. */
  framing: Framing
  connectionTokens: string[]
  /** The origin lets the connection live on. */
  keepAlive: boolean
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: (.*))?$/

/**
 * Reads a response head without its empty line. `method` is that of the request it answers.
 * @throws MalformedHttp
 */
export function parseResponseHead(head: string, method: string): ResponseHead {
  rejectStrayBytes(head)
  const lineEnd = head.indexOf('\r\n')
  const line = STATUS_LINE.exec(lineEnd < 0 ? head : head.slice(0, lineEnd))
  if (!line) throw new MalformedHttp('the status line is not "HTTP/1.1 200 …"')
  const status = Number(line[2])
  const fields = parseFields(head, lineEnd < 0 ? head.length : lineEnd + 2)
  const connectionTokens = fields.tokens('connection')
  const framing = responseFraming(fields, status, method)
  return {
    status,
    phrase: line[3] ?? '',
    fields,
    framing,
    connectionTokens,
    keepAlive:
      framing.kind !== 'close' &&
      (line[1] === '1' ? !connectionTokens.includes('close') : connectionTokens.includes('keep-alive')),
  }
}

function responseFraming(fields: Fields, status: number, method: string): Framing {
  const length = contentLength(fields)
  const chunked = isChunked(fields)
  if (chunked && length !== undefined) throw new MalformedHttp('both Content-Length and Transfer-Encoding')
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return { kind: 'none' }
  if (chunked) return { kind: 'chunked' }
  if (length === undefined) return { kind: 'close' }
  return length === 0 ? { kind: 'none' } : { kind: 'length', bytes: length }
}
