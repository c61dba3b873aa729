import type { Decoder } from '../../protocol/decode.ts'
import type { Base64Text } from './base64-text.ts'
import type { WireConnection } from './wire-connection.ts'

/** How state errors call the group of methods ("… before using FAMILY methods"). */
export type MethodFamily =
  | 'exec'
  | 'filesystem'
  | 'http'
  | 'environment info'
  | 'environment status'
  | 'environment config'
  | 'capability discovery'

export interface MethodOptions {
  /**
   * A member of params that holds base64 and may be megabytes. In a long message its text never goes
   * through JSON.parse: params has the empty string there and the handler gets the text as `bulk`.
   * In a short one `bulk` wraps the string of params, so a handler uses `bulk` alone.
   */
  bulkMember?: string
  /** Nothing of `bulk`, nor what was decoded from it, is looked at once the handler has answered. */
  isBulkOverWithAnswer?: boolean
}

/**
 * Answers a request with its result, a {@link BulkResult}, or a rejection: WireError as it is,
 * DecodeError as "invalid params", anything else as an internal error. Requests of one connection are
 * started in order of arrival and run at the same time: no request waits for the answer of another.
 */
export type MethodHandler<P> = (params: P, connection: WireConnection, bulk: Base64Text) => unknown

export interface Method {
  readonly name: string
  readonly family: MethodFamily
  readonly params: Decoder<unknown>
  readonly handle: MethodHandler<unknown>
  readonly bulkMember: string | undefined
  readonly isBulkOverWithAnswer: boolean
}

/** Every method that a client may call after `initialized`. */
export class MethodTable {
  private readonly methods = new Map<string, Method>()
  private readonly marks = new Map<string, Buffer>()

  /** Every bulk member with the bytes that stand before its value: `"member":"`. */
  get bulkMarks(): ReadonlyMap<string, Buffer> {
    return this.marks
  }

  /** Params are decoded before the state of the connection is looked at, as the wire wants it. */
  register<P>(
    name: string,
    family: MethodFamily,
    params: Decoder<P>,
    handle: MethodHandler<P>,
    { bulkMember, isBulkOverWithAnswer = false }: MethodOptions = {},
  ): this {
    if (this.methods.has(name)) throw new Error(`${name} is registered twice`)
    this.methods.set(name, {
      name,
      family,
      params,
      handle: handle as MethodHandler<unknown>,
      bulkMember,
      isBulkOverWithAnswer,
    })
    if (bulkMember !== undefined) this.marks.set(bulkMember, Buffer.from(`"${bulkMember}":"`))
    return this
  }

  find(name: string): Method | undefined {
    return this.methods.get(name)
  }
}
