/**
 * Error codes. Inside the house an error is a stable string code; on a wire it is JSON-RPC's number.
 * This table maps both ways; nobody parses sentences.
 */
export const RPC_ERROR = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Local or remote AbortSignal; also the answer to a cancelled request. */
  cancelled: -32800,
  timedOut: -32801,
  /** The transport closed with the request in flight. */
  disconnected: -32802,
  /** The sidecar is not running; it may come back. */
  unavailable: -32803,
  /** Queue or window full. */
  overloaded: -32804,
  /** A decision said no. `data.reason` is for people. */
  denied: -32805,
  notFound: -32806,
  forbidden: -32807,
} as const
export type ErrorCode = keyof typeof RPC_ERROR

const NAMES = new Map<number, ErrorCode>(
  (Object.entries(RPC_ERROR) as [ErrorCode, number][]).map(([name, n]) => [n, name]),
)
/** The house's name of a wire number; unknown numbers are `internal`. */
export function errorCodeOf(wire: number): ErrorCode {
  return NAMES.get(wire) ?? 'internal'
}
