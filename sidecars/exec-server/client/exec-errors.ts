import type { ErrorCode } from '../../protocol/errors.ts'
import { spawnErrorKind, type SpawnErrorKind } from '../../protocol/exec-process.ts'
import { RpcError } from '../../rpc/rpc-error.ts'

/** Why a session cannot be continued. */
export type SessionEnd = 'closed-here' | 'recovery-timed-out' | 'session-unknown' | 'refused'

/**
 * The session with the exec server is over and its processes are out of reach. Every reader, stream
 * and waiting call of the session gets this one object; a later call opens a new session.
 */
export class ExecSessionLost extends Error {
  readonly code: ErrorCode = 'disconnected'
  constructor(
    readonly reason: SessionEnd,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
    this.name = 'ExecSessionLost'
  }
}

/** The connection ended under a call: whether the server has done what was asked is unknown. */
export class ConnectionLost extends RpcError {
  constructor(message: string, cause?: unknown) {
    super('disconnected', message, undefined, { cause })
    this.name = 'ConnectionLost'
  }
}

/** What kept a process from starting, or null when `error` is something else. */
export function spawnErrorKindOf(error: unknown): SpawnErrorKind | null {
  if (!(error instanceof RpcError)) return null
  const { kind } = (error.data ?? {}) as { kind?: unknown }
  try {
    return spawnErrorKind(kind, 'data.kind')
  } catch {
    return null
  }
}
