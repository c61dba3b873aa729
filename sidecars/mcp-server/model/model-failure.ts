/** Why a model request or stream failed, told apart as far as a client can act on it. */

/** The protocol's error kinds (app-server v2 `codexErrorInfo`). */
export type ModelFailureKind =
  | 'contextWindowExceeded'
  | 'usageLimitExceeded'
  | 'rateLimitExceeded'
  | 'serverOverloaded'
  | 'modelNotFound'
  | 'cyberPolicy'
  | 'internalServerError'
  | 'unauthorized'
  | 'badRequest'
  | 'other'
  | { httpConnectionFailed: { httpStatusCode: number | null } }
  | { responseStreamConnectionFailed: { httpStatusCode: number | null } }
  | { responseStreamDisconnected: { httpStatusCode: number | null } }
  | { responseTooManyFailedAttempts: { httpStatusCode: number | null } }

export class ModelFailure extends Error {
  /** Another attempt may succeed. */
  readonly retryable: boolean
  /** The server said when to come back. */
  readonly retryAfterMs: number | null
  constructor(
    readonly kind: ModelFailureKind,
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ModelFailure'
    this.retryable = options.retryable ?? false
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}

interface ErrorBody {
  code?: unknown
  type?: unknown
  message?: unknown
  resets_in_seconds?: unknown
}

const errorIn = (body: unknown): ErrorBody => {
  const inner = (body as { error?: unknown } | null)?.error
  return typeof inner === 'object' && inner !== null ? (inner as ErrorBody) : {}
}

/** Maps an HTTP answer other than 2xx. */
export function failureOfStatus(status: number, text: string, retryAfterMs: number | null): ModelFailure {
  const error = errorIn(parsed(text))
  const message = text.trim() === '' ? `the model server answered HTTP ${status}` : text.trim()
  if (status === 401)
    return new ModelFailure(
      { httpConnectionFailed: { httpStatusCode: 401 } },
      `unexpected status 401 Unauthorized: ${message}`,
      {
        retryable: true,
      },
    )
  if (status === 429) {
    const limit =
      error.type === 'usage_limit_reached' || error.type === 'usage_not_included' || error.code === 'insufficient_quota'
    if (limit) return new ModelFailure('usageLimitExceeded', usageLimitText(error))
    return new ModelFailure(
      { responseTooManyFailedAttempts: { httpStatusCode: 429 } },
      `exceeded retry limit, last status: 429: ${message}`,
      {
        retryable: true,
        retryAfterMs,
      },
    )
  }
  if (status === 404 && error.code === 'model_not_found') return new ModelFailure('modelNotFound', message)
  if (error.code === 'context_length_exceeded') return new ModelFailure('contextWindowExceeded', message)
  if (status >= 500)
    return new ModelFailure(
      status === 503 ? 'serverOverloaded' : 'internalServerError',
      `unexpected status ${status}: ${message}`,
      {
        retryable: true,
        retryAfterMs,
      },
    )
  return new ModelFailure(status === 400 ? 'badRequest' : 'other', message)
}

/** Maps the error of a `response.failed` event. */
export function failureOfResponse(error: ErrorBody | null | undefined): ModelFailure {
  const message = typeof error?.message === 'string' ? error.message : 'the response failed'
  switch (error?.code) {
    case 'context_length_exceeded':
      return new ModelFailure('contextWindowExceeded', message)
    case 'insufficient_quota':
    case 'usage_not_included':
      return new ModelFailure('usageLimitExceeded', message)
    case 'server_is_overloaded':
    case 'slow_down':
      return new ModelFailure('serverOverloaded', message)
    case 'cyber_policy':
      return new ModelFailure('cyberPolicy', message)
    case 'invalid_prompt':
      return new ModelFailure('badRequest', message)
    default:
      // rate_limit_exceeded and unknown codes: the same request may pass a moment later.
      return new ModelFailure({ responseStreamDisconnected: { httpStatusCode: null } }, message, {
        retryable: true,
        retryAfterMs: delayInText(message),
      })
  }
}

function usageLimitText(error: ErrorBody): string {
  const reset =
    typeof error.resets_in_seconds === 'number' ? ` It resets in ${Math.ceil(error.resets_in_seconds / 60)} min.` : ''
  const said =
    typeof error.message === 'string' && error.message !== ''
      ? error.message
      : 'The usage limit of this account is reached.'
  return `${said}${reset}`
}

/** "Please try again in 1.3s" / "in 250ms" / "in 2 seconds" -> milliseconds. */
export function delayInText(text: string): number | null {
  const found = /try again in\s*(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|seconds?)/i.exec(text)
  if (!found) return null
  const amount = Number(found[1])
  return Math.ceil(found[2]!.toLowerCase().startsWith('m') ? amount : amount * 1000)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
