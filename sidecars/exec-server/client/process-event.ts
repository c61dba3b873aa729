import type { OutputStream } from '../../protocol/host-channel.ts'

/** Output bytes of a process, in the order the server gave them. */
export interface OutputChunk {
  kind: 'output'
  seq: number
  stream: OutputStream
  bytes: Uint8Array
}
/** Output that the server no longer keeps: sequence numbers from and to, both included. */
export interface OutputGap {
  kind: 'gap'
  fromSeq: number
  toSeq: number
}
export type ProcessOutput = OutputChunk | OutputGap

export interface ProcessExit {
  /** 128 + signal for a signal on pipes; null when the server does not know. */
  exitCode: number | null
  /** The server believes that the sandbox stopped the program. */
  sandboxDenied: boolean
}

/** One numbered event of a process. Output, exit and close share one count from 1 without holes. */
export type ProcessEvent =
  | OutputChunk
  | ({ kind: 'exited'; seq: number } & ProcessExit)
  | { kind: 'closed'; seq: number }
