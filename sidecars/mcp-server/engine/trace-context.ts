/** Which trace the current request belongs to, carried along to the submissions it makes. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** W3C trace context, as a client sends it with a request. */
export interface TraceContext {
  traceparent: string
  tracestate?: string | null
}

const current = new AsyncLocalStorage<TraceContext>()

/** Runs `work` so that what it submits has `carrier` as its parent. */
export function withTrace<T>(carrier: TraceContext | null, work: () => T): T {
  return carrier ? current.run(carrier, work) : work()
}

export const currentTrace = (): TraceContext | null => current.getStore() ?? null
