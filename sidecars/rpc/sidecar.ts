/** How a sidecar's entry file starts: the same code under a host and alone as a command. */
import type { InitializeParams, SidecarName } from '../protocol/host-channel.ts'
import type { RpcPeer } from './peer.ts'
import type { PortLike } from './port-like.ts'
import { parentPortCarrier, PortTransport, type ParentPortLike } from './port-transport.ts'
import { exitOnUnhandledFailure } from './fatal.ts'
import { HOST_CHANNEL_FLAG, takeHostChannel } from './host-channel-stdio.ts'
import { serveHost } from './serve-host.ts'

export type { PortLike }

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

/**
 * Runs a sidecar to its end; the only call of an entry file.
 *
 * The carrier follows from how the process was started: a utility process of Electron talks over its
 * `parentPort`; `--host-channel` as first argument means JSON lines on stdin and stdout; anything else
 * is the command. An unhandled failure is logged and ends the process with code 1 in all three.
 */
export function runSidecar(definition: SidecarDefinition): void {
  exitOnUnhandledFailure(definition.name)
  const { parentPort } = process as NodeJS.Process & { parentPort?: ParentPortLike }
  if (parentPort) {
    const transport = new PortTransport('host channel', parentPortCarrier(parentPort))
    serveHost(definition, transport, (listener) => transport.onPort(listener))
  } else if (process.argv[2] === HOST_CHANNEL_FLAG) {
    serveHost(definition, takeHostChannel(), () => {})
  } else {
    void definition.alone(process.argv.slice(2)).then((exitCode) => exitAfterOutput(exitCode))
  }
}

/** `process.exit` cuts off output that still waits in a pipe. */
function exitAfterOutput(exitCode: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)))
}
