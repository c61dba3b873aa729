/** Requests inside an inspected connection, as the proxy shows them: credentials masked, queries left out. */

export interface Exchange {
  atMs: number
  method: string
  /** Without the query; `?…` at its end says that there was one. */
  path: string
  status?: number
  /** Why it was refused. */
  reason?: string
  requestHeaders: readonly Header[]
  responseHeaders?: readonly Header[]
}
export type Header = readonly [name: string, value: string]

/** The exchanges in the detail of a connection, oldest first; what is not one is left out. */
export function readExchanges(detail: unknown): Exchange[] {
  const list = (detail as { exchanges?: unknown } | null | undefined)?.exchanges
  return Array.isArray(list) ? list.filter(isExchange) : []
}

function isExchange(value: unknown): value is Exchange {
  const exchange = value as Partial<Exchange> | null
  return (
    typeof exchange === 'object' &&
    exchange !== null &&
    typeof exchange.atMs === 'number' &&
    typeof exchange.method === 'string' &&
    typeof exchange.path === 'string' &&
    Array.isArray(exchange.requestHeaders)
  )
}
