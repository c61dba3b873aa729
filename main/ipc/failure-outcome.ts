import type { Outcome } from '../../preload/api.ts'
import { DecodeError } from '../../sidecars/protocol/decode.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'

type Failure = Extract<Outcome<never>, { ok: false }>

/**
 * What the window may know of a failure: a stable code and one sentence, never a stack. A failure
 * nobody foresaw is also written to stderr, with its stack, for whoever looks into it.
 */
export function failureOutcome(error: unknown, channel: string): Failure {
  if (error instanceof RpcError) return { ok: false, code: error.code, message: error.message }
  if (error instanceof DecodeError) return { ok: false, code: 'invalidParams', message: error.message }
  console.error(`${channel}:`, error)
  return { ok: false, code: 'internal', message: error instanceof Error ? error.message : String(error) }
}
