/**
 * Messages on the port that carries one process's output from the exec server straight to a view
 * (structured clone, not JSON). The exec server sends at most `OUTPUT_WINDOW_BYTES` beyond what was
 * acknowledged; the view acknowledges when the terminal has really taken the bytes.
 */
import type { OutputStream } from './host-channel.ts'

/** Unacknowledged bytes allowed in flight per port. */
export const OUTPUT_WINDOW_BYTES = 2 * 1024 * 1024

export type OutputPortFromServer =
  | { type: 'output'; seq: number; stream: OutputStream; bytes: Uint8Array }
  /** Bytes that the spool no longer has; drawn as a line in the terminal. */
  | { type: 'gap'; fromSeq: number; toSeq: number; bytes: number }
  | { type: 'exited'; seq: number; exitCode: number | null; exitSignal: string | null }
  | { type: 'closed'; seq: number }
  | { type: 'failed'; message: string }

export type OutputPortFromView = { type: 'ack'; bytes: number } | { type: 'detach' }
