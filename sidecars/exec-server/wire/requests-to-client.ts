import { formatWireRequest, type WireErrorObject } from './envelope.ts'

/** The client's answer was an error, or the connection ended before one came. */
export class ClientRequestError extends Error {
  constructor(
    message: string,
    /** The number of the client's error; null when there was no answer. */
    readonly wireCode: number | null,
  ) {
    super(message)
    this.name = 'ClientRequestError'
  }
}

interface Pending {
  resolve(result: unknown): void
  reject(error: ClientRequestError): void
}

/** Requests that the server makes, numbered 1, 2, 3 … apart from the client's own. */
export class RequestsToClient {
  private readonly pending = new Map<string, Pending>()
  private nextId = 1
  private endReason: string | undefined

  constructor(private readonly send: (text: string) => void) {}

  /**
   * Asks the client. Rejects with ClientRequestError on an error answer, after `timeoutMs`, when
   * `signal` fires, or when the connection ends.
   */
  request(
    method: string,
    params: unknown,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<unknown> {
    if (this.endReason !== undefined) return Promise.reject(new ClientRequestError(this.endReason, null))
    const idText = String(this.nextId++)
    return new Promise((resolve, reject) => {
      const settled = () => {
        clearTimeout(timer)
        options.signal?.removeEventListener('abort', onAbort)
      }
      const give = (reason: string) => {
        if (!this.pending.has(idText)) return
        // The entry stays: an answer that comes late is known, not a breach of the protocol.
        this.pending.set(idText, { resolve() {}, reject() {} })
        settled()
        reject(new ClientRequestError(reason, null))
      }
      const onAbort = () => give(`${method} was withdrawn`)
      const timer =
        options.timeoutMs === undefined
          ? undefined
          : setTimeout(() => give(`${method} got no answer within ${options.timeoutMs} ms`), options.timeoutMs)
      options.signal?.addEventListener('abort', onAbort, { once: true })
      this.pending.set(idText, {
        resolve: (result) => (settled(), resolve(result)),
        reject: (error) => (settled(), reject(error)),
      })
      this.send(formatWireRequest(idText, method, params))
    })
  }

  /** False when no request with this id was made or it was answered before. */
  settle(idText: string, outcome: { result: unknown } | { error: WireErrorObject }): boolean {
    const waiting = this.pending.get(idText)
    if (!waiting) return false
    this.pending.delete(idText)
    if ('result' in outcome) waiting.resolve(outcome.result)
    else waiting.reject(new ClientRequestError(outcome.error.message, outcome.error.code))
    return true
  }

  failAll(reason: string): void {
    this.endReason = `the connection ended: ${reason}`
    const waiting = [...this.pending.values()]
    this.pending.clear()
    for (const { reject } of waiting) reject(new ClientRequestError(this.endReason, null))
  }
}
