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
    readonly code: 'parseError' | 'invalidRequest' = 'invalidRequest',
    /** It was meant as an answer to a request of the reader. */
    readonly isAnswer = false,
  ) {
    super(message)
    this.name = 'MalformedMessage'
  }
}

/**
 * Reads one message. Accepts a missing or any `jsonrpc` member and ignores unknown members.
 * @throws MalformedMessage for unparsable text, batches, scalars and ill-typed members
 */
export function parseMessage(text: string): RpcMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MalformedMessage(`not JSON: ${(error as Error).message}`, null, 'parseError')
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
      throw new MalformedMessage('error: expected {code, message}', id ?? null, 'invalidRequest', true)
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

const TOP_LEVEL_ID = /"id"\s*:\s*(-?\d+)(?=\s*[,}])/y
const MAX_ID = 0x7fff_ffff_ffff_ffffn
const MIN_ID = -0x8000_0000_0000_0000n

/** The digits of an id that JSON.parse rounded: the last "id" member at depth 1, as JSON.parse takes it. */
function exactId(rounded: number, text: string): bigint {
  let exact: bigint | undefined
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const c = text[at]
    if (c === '{' || c === '[') depth++
    else if (c === '}' || c === ']') depth--
    else if (c === '"') {
      TOP_LEVEL_ID.lastIndex = at
      const digits = depth === 1 ? TOP_LEVEL_ID.exec(text)?.[1] : undefined
      if (digits !== undefined) exact = BigInt(digits)
      at = endOfString(text, at)
    }
  }
  if (exact === undefined || Number(exact) !== rounded || exact > MAX_ID || exact < MIN_ID)
    throw new MalformedMessage('id: expected a string or a signed 64-bit integer')
  return exact
}

/** Index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"' || at >= text.length) return at
  }
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
