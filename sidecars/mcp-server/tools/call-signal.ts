import type { ServerContext } from '@modelcontextprotocol/server'

/**
 * Runs a call under one signal for both ways a client can give it up: `notifications/cancelled` (also
 * a closed connection), and an HTTP response stream that was closed before its result.
 */
export async function underCallSignal<T>(
  context: ServerContext,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const sources = [context.mcpReq.signal, context.http?.req?.signal].filter((s): s is AbortSignal => s !== undefined)
  const controller = new AbortController()
  const onAbort = () => controller.abort()
  for (const source of sources)
    if (source.aborted) onAbort()
    else source.addEventListener('abort', onAbort, { once: true })
  try {
    return await call(controller.signal)
  } finally {
    for (const source of sources) source.removeEventListener('abort', onAbort)
  }
}
