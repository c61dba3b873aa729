/** The exec server's wire, part 4: `http/request` and its streamed body. */
import {
  array,
  boolean,
  integer,
  literal,
  nullable,
  object,
  optional,
  string,
  u64,
  whenAbsent,
  withDefault,
  type Infer,
} from './decode.ts'

export const httpHeader = object({ name: string, value: string })
export type HttpHeader = Infer<typeof httpHeader>
export const httpRequestParams = object({
  method: string,
  url: string,
  /** `valueEnvVar` names a variable of the server's environment that is appended to `value`. */
  headers: whenAbsent(array(object({ name: string, value: string, valueEnvVar: optional(string) })), []),
  bodyBase64: optional(string),
  /** Covers headers and, when streaming, the body; absent = no limit, 0 = times out at once. */
  timeoutMs: optional(u64),
  redirectPolicy: whenAbsent(literal('follow', 'stop'), 'follow' as const),
  requestId: string,
  streamResponse: whenAbsent(boolean, false),
})
export type HttpRequestParams = Infer<typeof httpRequestParams>
export const httpRequestResult = object({ status: integer(100, 999), headers: array(httpHeader), bodyBase64: string })
export type HttpRequestResult = Infer<typeof httpRequestResult>

/** Notification `http/request/bodyDelta`; `seq` counts from 1, the last one has `done`. */
export const bodyDelta = object({
  requestId: string,
  seq: integer(1),
  deltaBase64: string,
  done: boolean,
  error: withDefault(nullable(string), null),
})
export type BodyDelta = Infer<typeof bodyDelta>
/** A client treats a larger delta as a broken server. */
export const MAX_BODY_DELTA_BYTES = 1_048_576
