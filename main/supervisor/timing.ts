/** The numbers of supervision. Tests shorten them; the product uses the defaults. */
export interface SupervisorTiming {
  /** From launch to the answer of `sidecar/initialize`; then the process is killed. */
  handshakeMs: number
  /** How often a ready sidecar is pinged. */
  pingIntervalMs: number
  /**
   * A ping without an answer for this long means the sidecar hangs; it is killed and restarted. Generous,
   * because a swapping machine or a debugger can stop a healthy process for many seconds.
   */
  pingTimeoutMs: number
  /** Wait before the first restart; doubles with each failure in a row. */
  backoffFirstMs: number
  backoffMaxMs: number
  /** Ready for this long means healthy: the next failure starts again at `backoffFirstMs`. */
  backoffResetMs: number
  /** This many crashes within the window and the sidecar stays down until somebody retries. */
  crashLimit: number
  crashWindowMs: number
  /** Between SIGTERM and SIGKILL, and after SIGKILL. */
  killGraceMs: number
  /** After its end, how long what lived below it may take to end by itself. */
  descendantGraceMs: number
}

export const DEFAULT_TIMING: SupervisorTiming = {
  handshakeMs: 10_000,
  pingIntervalMs: 10_000,
  pingTimeoutMs: 60_000,
  backoffFirstMs: 250,
  backoffMaxMs: 10_000,
  backoffResetMs: 30_000,
  crashLimit: 5,
  crashWindowMs: 60_000,
  killGraceMs: 500,
  descendantGraceMs: 1_000,
}

/** The wait before restart number `failuresInARow` (counting from 1). */
export function backoffMs(failuresInARow: number, timing: SupervisorTiming): number {
  return Math.min(timing.backoffMaxMs, timing.backoffFirstMs * 2 ** (failuresInARow - 1))
}
