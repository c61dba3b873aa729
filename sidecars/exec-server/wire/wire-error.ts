import { RPC_ERROR } from '../../protocol/errors.ts'
import { EXEC_ERROR } from '../../protocol/exec-process.ts'

const CODES = {
  /** State errors, duplicate ids, bad file arguments, permission denied. */
  invalidRequest: RPC_ERROR.invalidRequest,
  methodNotFound: RPC_ERROR.methodNotFound,
  /** Params that do not decode, and most argument checks. */
  invalidParams: RPC_ERROR.invalidParams,
  /** Spawn failures (with `data.kind`), other input/output errors. */
  internal: RPC_ERROR.internal,
  /** A file, directory or file handle does not exist. */
  notFound: EXEC_ERROR.notFound,
  alreadyAttached: EXEC_ERROR.alreadyAttached,
} as const

/** A failure as a client of the exec server sees it: one of the wire's numbers, a sentence, data. */
export class WireError extends Error {
  readonly wireCode: number
  constructor(
    readonly code: keyof typeof CODES,
    message: string,
    readonly data?: Record<string, unknown>,
  ) {
    super(message)
    this.name = 'WireError'
    this.wireCode = CODES[code]
  }
}
