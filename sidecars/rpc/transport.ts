/** What carries JSON-RPC messages: one JSON text per message, delivered in order. */

/** Why a transport ended. `code` is stable; `message` is one sentence for people. */
export interface CloseReason {
  code: 'local' | 'remote' | 'error' | 'overflow'
  message: string
  cause?: unknown
}

/** Something was wrong with one incoming message; the transport lives on. */
export interface TransportProblem {
  code: 'message-too-long' | 'not-utf8' | 'not-a-message'
  message: string
}

export interface TransportHandlers {
  onMessage(text: string): void
  onProblem(problem: TransportProblem): void
  /** Called exactly once, after the last onMessage. */
  onClose(reason: CloseReason): void
}

/**
 * A bidirectional, ordered, message-framed carrier.
 *
 * The owner calls `start` once (messages that arrived earlier are kept and delivered then) and
 * `close` when done; both are idempotent. After `onClose` nothing is delivered and `send` is ignored.
 */
export interface Transport {
  /** For logs and errors: "exec server channel", "mcp.sock client 3". */
  readonly label: string
  start(handlers: TransportHandlers): void
  /**
   * Queues one message. Returns false when the queue is past its high-water mark: the caller should
   * await `drained()` before sending bulk data. Past the hard bound the transport closes with
   * `overflow`: a peer that never reads cannot grow us without limit.
   */
  send(text: string): boolean
  /** `send` for a message that is UTF-8 already, in pieces that stay as they are; not every carrier can. */
  sendBytes?(pieces: readonly Uint8Array[]): boolean
  /** Resolves when the queue is below the low-water mark, or the transport has closed. */
  drained(): Promise<void>
  /** Bytes accepted by `send` and not yet handed to the operating system. */
  readonly queuedBytes: number
  /** Stops and restarts delivery; the carrier holds the other side back. */
  pause(): void
  resume(): void
  /** Nothing is delivered after this; what was sent before still leaves, for a short while. */
  close(message?: string): void
}
