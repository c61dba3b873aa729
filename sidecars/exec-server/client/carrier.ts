import type { Transport } from '../../rpc/transport.ts'

/** A connected way to an exec server. Whoever holds it owns the transport. */
export interface ExecCarrier {
  readonly transport: Transport
  /** Lines that are no messages are skipped: a remote shell may greet before the server speaks. */
  readonly toleratesNoise?: boolean
  /** The transport itself ends when the other machine falls silent. */
  readonly noticesSilence?: boolean
}

/** Connects once. Rejects when there is no server, or when `signal` fires. */
export type ExecConnector = (signal: AbortSignal) => Promise<ExecCarrier>
