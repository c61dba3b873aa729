/** What the proxy adds to a connection beyond its fields. */

export interface ConnectionDetail {
  /** Which hop failed, and how. */
  failure: string | null
  /** Words of whoever refused it, or what an address turned out to be. */
  words: string | null
  /** Requests on the connection, when there were several. */
  requests: number | null
}

export function readDetail(detail: unknown): ConnectionDetail {
  const { failure, words, requests } = (detail ?? {}) as Record<string, unknown>
  return {
    failure: typeof failure === 'string' ? failure : null,
    words: typeof words === 'string' ? words : null,
    requests: typeof requests === 'number' ? requests : null,
  }
}
