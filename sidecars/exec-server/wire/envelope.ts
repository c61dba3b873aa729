/** The JSON-RPC envelope of this wire: no `jsonrpc` member, ids echoed to the last digit, no batches. */
import { isUtf8 } from 'node:buffer'
import { MalformedMessage } from '../../rpc/json-rpc.ts'
import { KEPT_MESSAGE_BYTES } from './carrier.ts'
import { checkJsonLimits, countMembers } from './json-limits.ts'
import { hasLoneSurrogate } from './lone-surrogate.ts'

export interface WireErrorObject {
  code: number
  message: string
  data?: unknown
}

/** `idText` is the id as JSON text: integers are never turned into numbers. */
export type IncomingMessage =
  | { kind: 'request'; idText: string; method: string; params: unknown; bulk: BulkMember | undefined }
  | { kind: 'notification'; method: string; params: unknown }
  | { kind: 'response'; idText: string; outcome: { result: unknown } | { error: WireErrorObject } }

/** The text of one long base64 member, left where it arrived. */
export interface BulkMember {
  name: string
  text: Buffer
}

/** Stands in params for a bulk member while the rest is parsed. */
const STAND_IN = '\u0001bulk'
const STAND_IN_JSON = '\\u0001bulk'
const MAX_I64 = 0x7fff_ffff_ffff_ffffn
const MIN_I64 = -0x8000_0000_0000_0000n
const BACKSLASH = 0x5c
const QUOTE = 0x22

/**
 * Reads one message. A long one is searched for a bulk member instead of being parsed whole.
 * @param bulkNames members that may hold megabytes of base64
 * @throws MalformedMessage whose message is the reason alone
 */
export function parseWireMessage(bytes: Buffer, bulkNames: ReadonlyMap<string, Buffer>): IncomingMessage {
  if (!isUtf8(bytes)) throw new MalformedMessage('the message is not UTF-8')
  if (bytes.length >= KEPT_MESSAGE_BYTES)
    for (const [name, mark] of bulkNames) {
      const found = parseAround(bytes, name, mark)
      if (found) return found
    }
  return readEnvelope(bytes.toString('utf8'), checkJsonLimits(bytes), undefined)
}

/** Parses everything but the value of `name`; undefined when it is not a plain member of params. */
function parseAround(bytes: Buffer, name: string, mark: Buffer): IncomingMessage | undefined {
  const at = bytes.indexOf(mark)
  // A backslash before the mark's first quote makes it the end of some longer key.
  if (at <= 0 || bytes[at - 1] === BACKSLASH) return undefined
  const start = at + mark.length
  const end = bytes.indexOf(QUOTE, start)
  if (end < 0) return undefined
  const text = bytes.subarray(start, end)
  if (text.includes(BACKSLASH)) return undefined
  const rest = bytes.toString('utf8', 0, start) + STAND_IN_JSON + bytes.toString('utf8', end, bytes.length)
  const message = readEnvelope(rest, checkJsonLimits(Buffer.from(rest)), { name, text })
  if (message.kind !== 'request') return undefined
  const params = message.params as Record<string, unknown> | null
  if (typeof params !== 'object' || params?.[name] !== STAND_IN) return undefined
  params[name] = ''
  return message
}

function readEnvelope(text: string, members: number, bulk: BulkMember | undefined): IncomingMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MalformedMessage((error as Error).message)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedMessage('expected a JSON-RPC object')
  if (hasLoneSurrogate(text)) throw new MalformedMessage('a \\u escape is half of a surrogate pair')
  if (countMembers(value) !== members) throw new MalformedMessage('a key stands twice in one object')
  const message = value as Record<string, unknown>
  const { id, method } = message
  const idText = id === undefined ? undefined : readId(id, text)
  if (typeof method === 'string') {
    const params = message.params ?? null
    if (idText === undefined) return { kind: 'notification', method, params }
    // Of notifications nobody reads it.
    checkTrace(message.trace)
    return { kind: 'request', idText, method, params, bulk }
  }
  if (method !== undefined) throw new MalformedMessage('method: expected a string')
  if (idText === undefined) throw new MalformedMessage('neither a request, a notification nor a response')
  if (message.result !== undefined) return { kind: 'response', idText, outcome: { result: message.result } }
  return { kind: 'response', idText, outcome: { error: readError(message.error) } }
}

function readError(value: unknown): WireErrorObject {
  const error = value as Partial<WireErrorObject> | null | undefined
  if (
    typeof error !== 'object' ||
    error === null ||
    !Number.isSafeInteger(error.code) ||
    typeof error.message !== 'string'
  )
    throw new MalformedMessage('neither a request, a notification nor a response')
  return { code: error.code as number, message: error.message, data: error.data }
}

function checkTrace(trace: unknown): void {
  if (trace === undefined || trace === null) return
  const isText = (value: unknown) => value === undefined || value === null || typeof value === 'string'
  const { traceparent, tracestate } = trace as Record<string, unknown>
  if (typeof trace !== 'object' || Array.isArray(trace) || !isText(traceparent) || !isText(tracestate))
    throw new MalformedMessage('trace: expected {traceparent, tracestate} with strings')
}

/** Most clients write the id first; then its digits need no search. */
const LEADING_INTEGER_ID = /^\{"id":(0|-?[1-9]\d{0,14})[,}]/

function readId(id: unknown, text: string): string {
  if (typeof id === 'string') return JSON.stringify(id)
  if (typeof id !== 'number') throw new MalformedMessage('id: expected a string or an integer')
  const token = LEADING_INTEGER_ID.exec(text)?.[1] ?? topLevelNumber(text, 'id')
  if (token === undefined || !/^-?\d+$/.test(token)) throw new MalformedMessage('id: expected a string or an integer')
  if (Number.isSafeInteger(id)) return String(id)
  const exact = BigInt(token)
  if (exact > MAX_I64 || exact < MIN_I64) throw new MalformedMessage('id: beyond a signed 64-bit integer')
  return token
}

/** The number behind the member `name` of the outermost object, as written. */
function topLevelNumber(text: string, name: string): string | undefined {
  const token = /[\s:]*(-?[\d.eE+-]+)/y
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      const from = i + 1
      for (i++; text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++
      if (depth !== 1 || text.slice(from, i) !== name) continue
      token.lastIndex = i + 1
      const match = /^\s*:/.test(text.slice(i + 1, i + 40)) ? token.exec(text) : null
      if (match) return match[1]
    } else if (c === 0x7b || c === 0x5b) depth++
    else if (c === 0x7d || c === 0x5d) depth--
  }
  return undefined
}

/** `result` is JSON text already. */
export function formatResult(idText: string, result: string): string {
  return `{"id":${idText},"result":${result}}`
}

export function formatError(idText: string, error: WireErrorObject): string {
  const data = error.data === undefined ? '' : `"data":${JSON.stringify(error.data)},`
  return `{"error":{"code":${error.code},${data}"message":${JSON.stringify(error.message)}},"id":${idText}}`
}

export function formatWireRequest(idText: string, method: string, params: unknown): string {
  return `{"id":${idText},"method":${JSON.stringify(method)},"params":${JSON.stringify(params)}}`
}
