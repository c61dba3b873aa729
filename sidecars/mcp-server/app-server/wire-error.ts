/** Errors of app-server v2: numbers and the texts that clients look for. */
export const APP_SERVER_ERROR = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  internal: -32603,
  overloaded: -32001,
} as const

/** An error that goes to the client as it is. */
export class WireError extends Error {
  override readonly name = 'WireError'
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

export const invalidRequest = (message: string): WireError => new WireError(APP_SERVER_ERROR.invalidRequest, message)
