/** One request that is on its way: what was read, where it goes, and how. */
import type { ParentRoute } from '../dial/parent-proxy.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { RequestHead } from './request-head.ts'
import type { RequestTarget } from './request-target.ts'
import type { ResponseHead } from './response-head.ts'

export interface ProxiedRequest {
  head: RequestHead
  target: RequestTarget
  destination: Destination
  /** Set when the request goes to a parent proxy instead. */
  parent: ParentRoute | undefined
  /** Undefined when the connection serves this request only. */
  poolKey: string | undefined
  /** Lower-case names of fields that hooks put in. */
  injected: readonly string[]
  /** Sees, and may change, each head of the answer before the client does. */
  onResponse: ((head: ResponseHead) => void) | undefined
}

/** The destination of a request outside any tunnel. */
export function plainDestination(head: RequestHead, target: RequestTarget): Destination {
  const protocol = target.tls ? 'https' : head.isWebSocketUpgrade ? 'websocket' : 'http'
  return { host: target.host, port: target.port, protocol, method: head.method }
}

/** Sending it twice does what sending it once does, and there is no body that is already gone. */
export function isReplayable({ method, framing }: RequestHead): boolean {
  return framing.kind === 'none' && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
}

/** A refused request's body up to this size is read and dropped, so that the connection can go on. */
const MAX_SKIPPED_BYTES = 64 * 1024

/** The rest of the request, if there is any, is small and sure to come. */
export function isSkippable({ framing, expectsContinue }: RequestHead): boolean {
  if (framing.kind === 'none') return true
  return framing.kind === 'length' && framing.bytes <= MAX_SKIPPED_BYTES && !expectsContinue
}
