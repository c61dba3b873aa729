import type { SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { Transport } from '../../sidecars/rpc/transport.ts'

/** How a sidecar process ended; `reason` is one sentence part for people: "exited with code 1". */
export interface SidecarExit {
  code: number | null
  signal: string | null
  reason: string
}

/** One running sidecar process. The supervisor that launched it is its only owner. */
export interface SidecarChild {
  readonly pid: number
  /** The host's end of the channel. Closes when the process ends. */
  readonly transport: Transport
  /** Resolves once the process is gone, never rejects. */
  readonly exited: Promise<SidecarExit>
  /** Everything the process writes to stderr (and stray stdout), from the first byte on. */
  onStderr(listener: (chunk: Uint8Array) => void): void
  /** Signals the process, and its whole process group where it leads one. No-op once it is gone. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void
}

export interface LaunchOptions {
  generation: number
  /** The whole environment of the process, see `sidecarEnvironment`. */
  env: Record<string, string>
}

/** Starts sidecar processes: plain Node children, or utility processes of Electron. */
export interface Launcher {
  /** Resolves when the process runs; rejects with a sentence saying why it cannot be started. */
  launch(name: SidecarName, options: LaunchOptions): Promise<SidecarChild>
}
