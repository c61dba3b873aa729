/** The last requests seen on a connection, as they may be shown: credentials are masked, queries left out. */
import type { Fields } from '../http/fields.ts'

/** Kept by reference; what is shown is made when somebody looks. */
export interface SeenExchange {
  atMs: number
  method: string
  /** With the query. */
  path: string
  request: Fields
  /** Lower-case names of fields that a hook put in. */
  injected: readonly string[]
  status?: number
  response?: Fields
  /** Why it was refused. */
  reason?: string
}

export interface ShownExchange {
  atMs: number
  method: string
  path: string
  status?: number
  reason?: string
  requestHeaders: [name: string, value: string][]
  responseHeaders?: [name: string, value: string][]
}

const MAX_KEPT = 10
const MAX_HEADERS = 40
const MAX_VALUE_LENGTH = 256
const MASKED = '[masked]'
const CREDENTIAL_NAME =
  /(?:^|-)auth(?:$|-|orization|entication)|cookie|token|secret|password|passwd|api-?key|access-?key|private-?key|signature|credential|session|assertion|^x-amz-security|^x-csrf|^x-xsrf|nonce/i

/** True for fields whose value nobody should read over a shoulder. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name)
}

export class ExchangeLog {
  private readonly kept: SeenExchange[] = []

  add(seen: SeenExchange): void {
    if (this.kept.length >= MAX_KEPT) this.kept.shift()
    this.kept.push(seen)
  }

  /** Oldest first. */
  shown(): ShownExchange[] {
    return this.kept.map(show)
  }
}

function show({ atMs, method, path, request, injected, status, response, reason }: SeenExchange): ShownExchange {
  const shown: ShownExchange = {
    atMs,
    method,
    path: withoutQuery(path),
    requestHeaders: showFields(request, injected),
  }
  if (status !== undefined) shown.status = status
  if (reason !== undefined) shown.reason = reason
  if (response) shown.responseHeaders = showFields(response, [])
  return shown
}

/** Queries carry keys and personal words as often as not; that there was one is enough. */
function withoutQuery(path: string): string {
  const at = path.indexOf('?')
  return at < 0 ? path : `${path.slice(0, at)}?…`
}

function showFields({ names, keys, values }: Fields, injected: readonly string[]): [string, string][] {
  const shown: [string, string][] = []
  for (let at = 0; at < names.length && at < MAX_HEADERS; at++) {
    const isSecret = isCredentialName(keys[at]!) || injected.includes(keys[at]!)
    shown.push([names[at]!, isSecret ? MASKED : showValue(keys[at]!, values[at]!)])
  }
  return shown
}

function showValue(key: string, value: string): string {
  const text = key === 'location' || key === 'referer' ? withoutQuery(value) : value
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text
}
