/** How a sidecar's entry file starts: the same code under a host and alone as a command. */
import type { InitializeParams, SidecarName } from '../protocol/host-channel.ts'
import type { RpcPeer } from './peer.ts'

/** One end of a MessagePort (Electron's MessagePortMain or worker_threads'), only what we use. */
export interface PortLike {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: unknown }) => void): void
  on(event: 'close', listener: () => void): void
  start(): void
  close(): void
}

export interface HostContext {
  /** The channel to the host. Register handlers while `underHost` runs; requests wait until it returns. */
  host: RpcPeer
  params: InitializeParams
  /** Ports the host hands over (app only), e.g. for live output. */
  onPort(listener: (message: unknown, port: PortLike) => void): void
}

export interface SidecarInstance {
  endpoints: Record<string, string>
  warnings: string[]
  /** `sidecar/configure`: applies the live part of a new configuration. Throws RpcError naming a fixed key. */
  configure(config: unknown): Promise<void>
  /** Ends everything it started; must resolve within `deadlineMs`. Called once. */
  shutdown(deadlineMs: number): Promise<void>
}

export interface SidecarDefinition {
  name: SidecarName
  /** Called once after a good `sidecar/initialize`; its return is "ready". */
  underHost(context: HostContext): Promise<SidecarInstance>
  /** Run as a command (`gatehouse exec-server …`), argv without node and script. Resolves with the exit code. */
  alone(argv: string[]): Promise<number>
}
