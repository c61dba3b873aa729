/** The header block of an HTTP/1.1 message, read strictly and kept in order, case and number. */

/** A message that is not exactly HTTP/1.1; `problem` is one sentence part for the peer that sent it. */
export class MalformedHttp extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'MalformedHttp'
  }
}

/** A header block may hold this many fields and the whole head this many bytes. */
export const MAX_FIELDS = 256
export const MAX_HEAD_BYTES = 64 * 1024

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// Every control character but tab, and each CR or LF that is not part of a CRLF.
const STRAY = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/

export class Fields {
  readonly names: string[] = []
  readonly values: string[] = []
  /** Names in lower case, for comparing. */
  readonly keys: string[] = []

  add(name: string, value: string): void {
    this.names.push(name)
    this.keys.push(name.toLowerCase())
    this.values.push(value)
  }

  get(key: string): string | undefined {
    const at = this.keys.indexOf(key)
    return at < 0 ? undefined : this.values[at]
  }

  has(key: string): boolean {
    return this.keys.includes(key)
  }

  count(key: string): number {
    let count = 0
    for (const k of this.keys) if (k === key) count++
    return count
  }

  /** All values of a list field, split at commas, in lower case. */
  tokens(key: string): string[] {
    const tokens: string[] = []
    for (let i = 0; i < this.keys.length; i++)
      if (this.keys[i] === key)
        for (const part of this.values[i]!.split(',')) {
          const token = part.trim().toLowerCase()
          if (token !== '') tokens.push(token)
        }
    return tokens
  }

  /** Removes every field named `key`. */
  remove(key: string): void {
    for (let at = this.keys.indexOf(key); at >= 0; at = this.keys.indexOf(key)) {
      this.names.splice(at, 1)
      this.keys.splice(at, 1)
      this.values.splice(at, 1)
    }
  }

  /** Replaces every field of that name by one. */
  set(name: string, value: string): void {
    this.remove(name.toLowerCase())
    this.add(name, value)
  }
}

/** @throws MalformedHttp when the head has a control character, a bare CR or a bare LF anywhere */
export function rejectStrayBytes(head: string): void {
  if (STRAY.test(head)) throw new MalformedHttp('a control character or a line end that is not CR LF')
}

/**
 * Reads `name: value` lines from `head` at `from`; the last line has no line end of its own.
 * Spaces around names, continuation lines and empty names are refused: each is read differently by
 * some server, which is how requests are smuggled.
 * @throws MalformedHttp
 */
export function parseFields(head: string, from: number): Fields {
  const fields = new Fields()
  let at = from
  while (at < head.length) {
    let end = head.indexOf('\r\n', at)
    if (end < 0) end = head.length
    const colon = head.indexOf(':', at)
    if (colon < 0 || colon > end) throw new MalformedHttp('a header line without a colon')
    const name = head.slice(at, colon)
    if (!TOKEN.test(name)) throw new MalformedHttp('a header name that is not a token (spaces count)')
    if (fields.names.length >= MAX_FIELDS) throw new MalformedHttp(`more than ${MAX_FIELDS} header fields`)
    fields.add(name, trimBlanks(head, colon + 1, end))
    at = end + 2
  }
  return fields
}

function trimBlanks(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}
const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Fields that decide framing and routing stay, whatever a Connection field says about them. */
const END_TO_END = new Set(['content-length', 'host'])

/** True when the field named `key` belongs to this connection only, by its nature or by `connectionTokens`. */
export function isHopByHop(key: string, connectionTokens: readonly string[]): boolean {
  if (HOP_BY_HOP.has(key)) return true
  return connectionTokens.length > 0 && connectionTokens.includes(key) && !END_TO_END.has(key)
}

export type Framing = { kind: 'none' } | { kind: 'length'; bytes: number } | { kind: 'chunked' } | { kind: 'close' }

/**
 * The one length a Content-Length says.
 * @throws MalformedHttp for signs, lists, blanks, numbers beyond 2^53 and fields that disagree
 */
export function contentLength(fields: Fields): number | undefined {
  let length: string | undefined
  for (let i = 0; i < fields.keys.length; i++) {
    if (fields.keys[i] !== 'content-length') continue
    const value = fields.values[i]!
    if (!/^\d{1,15}$/.test(value)) throw new MalformedHttp('a Content-Length that is not a plain number')
    if (length !== undefined) throw new MalformedHttp('more than one Content-Length')
    length = value
  }
  return length === undefined ? undefined : Number(length)
}

/** True for `Transfer-Encoding: chunked` alone. @throws MalformedHttp for every other coding */
export function isChunked(fields: Fields): boolean {
  const count = fields.count('transfer-encoding')
  if (count === 0) return false
  if (count > 1 || fields.get('transfer-encoding')?.toLowerCase() !== 'chunked')
    throw new MalformedHttp('a Transfer-Encoding other than chunked')
  return true
}
