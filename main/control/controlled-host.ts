import type { FeedBatch, FeedSnapshot, Invokes } from '../../preload/api.ts'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import type { OutputStream } from '../../sidecars/protocol/host-channel.ts'
import type { HostChannel } from '../intent-arguments.ts'

/** A command of the owner: runs as a session of its own, through rules, exec server and proxy. */
export interface RunRequest {
  argv: string[]
  /** Absolute. */
  cwd: string
  /** The whole environment that the owner's shell has. */
  env: Record<string, string>
  tty: { columns: number; rows: number } | null
  /** Fires when nobody waits for it any more: withdraws a pending request. */
  signal: AbortSignal
}

export interface RunSink {
  /** Bytes in order. The next ones come when the promise resolves: a slow reader slows the process. */
  output(stream: OutputStream, bytes: Uint8Array): Promise<void>
}

export interface RunEnd {
  exitCode: number | null
  exitSignal: string | null
  detail?: string
}

export interface RunHandle {
  processId: string
  sessionId?: string
  write(bytes: Uint8Array): Promise<void>
  endInput(): Promise<void>
  signal(name: Invokes['processes.signal']['args'][1]): Promise<void>
  resize(columns: number, rows: number): Promise<void>
  /** Resolves after the last output was taken by the sink. */
  closed: Promise<RunEnd>
}

/** What the control socket needs of the host. */
export interface ControlledHost {
  readonly feed: { snapshot(): FeedSnapshot; subscribe(listener: (batch: FeedBatch) => void): () => void }
  invoke<C extends HostChannel>(channel: C, args: Invokes[C]['args'], actor: Actor): Promise<Invokes[C]['result']>
  /** Rejects with RpcError `denied` and the reason when a rule says no. */
  startRun(request: RunRequest, sink: RunSink): Promise<RunHandle>
  /**
   * Proxy variables for a shell of the owner, which becomes a session of its own until the shell `pid`
   * has ended. Empty while the proxy is down.
   */
  shellEnvironment(shell: { cwd: string; pid: number }): Promise<Record<string, string>>
}
