/** JSON-RPC messages as this house reads and writes them. */

/**
 * A request id. Integers beyond 2^53 are kept as `bigint` so that they echo without loss
 * (JSON.parse alone would round them).
 */
export type RpcId = string | number | bigint

export interface RpcErrorObject {
  code: number
  message: string
  data?: unknown
}

export type RpcMessage =
  | { kind: 'request'; id: RpcId; method: string; params: unknown; trace?: unknown }
  | { kind: 'notification'; method: string; params: unknown; trace?: unknown }
  | { kind: 'result'; id: RpcId; result: unknown }
  | { kind: 'error'; id: RpcId | null; error: RpcErrorObject }

/** The text is not one well-formed JSON-RPC message; `message` says why, for the log and the answer. */
export class MalformedMessage extends Error {
  constructor(
    message: string,
    /** The id when it could still be read. */
    readonly id: RpcId | null = null,
  ) {
    super(message)
    this.name = 'MalformedMessage'
  }
}

const TOP_LEVEL_INTEGER_ID = /"id"\s*:\s*(-?\d{16,})/g

/**
 * Reads one message. Accepts a missing or any `jsonrpc` member and ignores unknown members.
 * @throws MalformedMessage for unparsable text, batches, scalars and ill-typed members
 */
export function parseMessage(text: string): RpcMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MalformedMessage(`not JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedMessage('expected a JSON-RPC object')
  const m = value as Record<string, unknown>
  const id = 'id' in m ? readId(m.id, text) : undefined
  if (typeof m.method === 'string') {
    const envelope = { method: m.method, params: m.params, ...(m.trace === undefined ? {} : { trace: m.trace }) }
    if (id === undefined) return { kind: 'notification', ...envelope }
    if (id === null) throw new MalformedMessage('a request id may not be null')
    return { kind: 'request', id, ...envelope }
  }
  if ('method' in m) throw new MalformedMessage('method: expected a string', id ?? null)
  if ('error' in m) {
    const e = m.error as Partial<RpcErrorObject> | null
    if (typeof e !== 'object' || e === null || typeof e.code !== 'number' || typeof e.message !== 'string')
      throw new MalformedMessage('error: expected {code, message}', id ?? null)
    const error: RpcErrorObject = { code: e.code, message: e.message }
    if (e.data !== undefined) error.data = e.data
    return { kind: 'error', id: id ?? null, error }
  }
  if (id === undefined || id === null || !('result' in m))
    throw new MalformedMessage('neither a request, a notification nor a response', id ?? null)
  return { kind: 'result', id, result: m.result }
}

function readId(id: unknown, text: string): RpcId | null {
  if (id === null || typeof id === 'string') return id
  if (typeof id !== 'number' || !Number.isInteger(id)) throw new MalformedMessage('id: expected a string or an integer')
  return Number.isSafeInteger(id) ? id : exactId(id, text)
}

/**
 * The digits of an id that JSON.parse rounded. More than one candidate can stand in the text (a
 * nested "id"); only one at depth 1 counts.
 */
function exactId(rounded: number, text: string): bigint {
  for (const match of text.matchAll(TOP_LEVEL_INTEGER_ID))
    if (depthAt(text, match.index) === 1 && Number(match[1]) === rounded) {
      const exact = BigInt(match[1]!)
      if (exact > 0x7fff_ffff_ffff_ffffn || exact < -0x8000_0000_0000_0000n)
        throw new MalformedMessage('id: beyond a signed 64-bit integer')
      return exact
    }
  throw new MalformedMessage('id: expected a string or a 64-bit integer')
}

function depthAt(text: string, end: number): number {
  let depth = 0
  let inString = false
  for (let i = 0; i < end; i++) {
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === 0x5c) i++
      else if (c === 0x22) inString = false
    } else if (c === 0x22) inString = true
    else if (c === 0x7b || c === 0x5b) depth++
    else if (c === 0x7d || c === 0x5d) depth--
  }
  return inString ? -1 : depth
}

const idText = (id: RpcId | null): string => (typeof id === 'bigint' ? id.toString() : JSON.stringify(id))
const member = (name: string, value: unknown): string =>
  value === undefined ? '' : `,${JSON.stringify(name)}:${JSON.stringify(value)}`

/** Writes one message as one line of JSON without a line end. */
export function formatMessage(message: RpcMessage): string {
  switch (message.kind) {
    case 'request':
      return `{"jsonrpc":"2.0","id":${idText(message.id)},"method":${JSON.stringify(message.method)}${member('params', message.params)}${member('trace', message.trace)}}`
    case 'notification':
      return `{"jsonrpc":"2.0","method":${JSON.stringify(message.method)}${member('params', message.params)}${member('trace', message.trace)}}`
    case 'result':
      return `{"jsonrpc":"2.0","id":${idText(message.id)},"result":${message.result === undefined ? 'null' : JSON.stringify(message.result)}}`
    case 'error':
      return `{"jsonrpc":"2.0","id":${idText(message.id)},"error":${JSON.stringify(message.error)}}`
  }
}
