import { errorCodeOf, RPC_ERROR, type ErrorCode } from '../protocol/errors.ts'

/** A failure that crosses, or crossed, a JSON-RPC edge. Never carries a stack or a secret. */
export class RpcError extends Error {
  /** The number on the wire. */
  readonly wireCode: number
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly data?: unknown,
    options?: { cause?: unknown; wireCode?: number },
  ) {
    super(message, options)
    this.name = 'RpcError'
    this.wireCode = options?.wireCode ?? RPC_ERROR[code]
  }
  /** Rebuilds an error that arrived in a response. */
  static fromWire(error: { code: number; message: string; data?: unknown }): RpcError {
    return new RpcError(errorCodeOf(error.code), error.message, error.data, { wireCode: error.code })
  }
}
