/** The header block of an HTTP/1.1 message, read strictly and kept in order, case and number. */
import { SpellingMemory } from '../policy/spelling-memory.ts'

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

const TAB = 0x09
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const COLON = 0x3a

/** Every control character but tab; those of line ends are looked at one by one, which a lookbehind does slowly. */
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/g

/** 1 for each character of a token (RFC 9110, 5.6.2). A head is Latin-1, so no code lies outside. */
const IS_TOKEN = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  IS_TOKEN[char.charCodeAt(0)] = 1

const MAX_REMEMBERED_NAMES = 512
const lowerCase = new SpellingMemory((name) => name.toLowerCase(), MAX_REMEMBERED_NAMES)

export class Fields {
  readonly names: string[] = []
  readonly values: string[] = []
  /** Names in lower case, for comparing. */
  readonly keys: string[] = []

  add(name: string, value: string): void {
    this.names.push(name)
    this.keys.push(lowerCase.meaningOf(name))
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

/** @throws MalformedHttp when the head has a control character other than tab, a bare CR or a bare LF anywhere */
export function rejectStrayBytes(head: string): void {
  CONTROL.lastIndex = 0
  while (CONTROL.test(head)) {
    const at = CONTROL.lastIndex - 1
    if (head.charCodeAt(at) !== CARRIAGE_RETURN || head.charCodeAt(at + 1) !== LINE_FEED)
      throw new MalformedHttp('a control character or a line end that is not CR LF')
    CONTROL.lastIndex = at + 2
  }
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
    const colon = tokenEnd(head, at)
    if (colon === at || head.charCodeAt(colon) !== COLON) throw unreadableName(head, at, end)
    if (fields.names.length >= MAX_FIELDS) throw new MalformedHttp(`more than ${MAX_FIELDS} header fields`)
    fields.add(head.slice(at, colon), trimBlanks(head, colon + 1, end))
    at = end + 2
  }
  return fields
}

function unreadableName(head: string, at: number, end: number): MalformedHttp {
  const colon = head.indexOf(':', at)
  return new MalformedHttp(
    colon < 0 || colon > end ? 'a header line without a colon' : 'a header name that is not a token (spaces count)',
  )
}

/** Where the token that starts at `from` ends; `from` itself when there is none. */
function tokenEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && IS_TOKEN[text.charCodeAt(at)] === 1) at++
  return at
}

function trimBlanks(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}
const isBlank = (code: number): boolean => code === SPACE || code === TAB

export function isToken(text: string): boolean {
  return text !== '' && tokenEnd(text, 0) === text.length
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
