import { spawn, type ChildProcess } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  HOST_PROTOCOL_VERSION,
  initializeResult,
  type InitializeParams,
  type InitializeResult,
  type SidecarName,
} from '../protocol/host-channel.ts'
import { LinesTransport } from '../rpc/lines-transport.ts'
import { RpcPeer } from '../rpc/peer.ts'

const OUT = join(dirname(fileURLToPath(import.meta.url)), '../../out/sidecars')

/** A built sidecar as a host runs it. */
export interface LaunchedSidecar {
  child: ChildProcess
  host: RpcPeer
  ready: InitializeResult
  stderr(): string
  /** Ends it as a host does; resolves when the process is gone. */
  shutdown(): Promise<void>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
}

/**
 * Starts `out/sidecars/NAME.cjs` and initializes it. `register` gets the host's end of the channel
 * before the first message.
 */
export async function launchSidecar(
  name: SidecarName,
  params: Omit<InitializeParams, 'protocolVersion' | 'instanceId' | 'generation'>,
  register: (host: RpcPeer) => void = () => {},
): Promise<LaunchedSidecar> {
  const child = spawn(process.execPath, [join(OUT, `${name}.cjs`), '--host-channel'], { stdio: 'pipe' })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += String(chunk)))
  const host = new RpcPeer(new LinesTransport(`${name} channel`, child.stdout, child.stdin))
  register(host)
  host.start()
  const ready = await host
    .request(
      'sidecar/initialize',
      { ...params, protocolVersion: HOST_PROTOCOL_VERSION, instanceId: 'test', generation: 1 },
      initializeResult,
      { timeoutMs: 20_000 },
    )
    .catch((error: unknown) => {
      throw new Error(`${name} did not start: ${String(error)}\n${stderr}`, { cause: error })
    })
  return {
    child,
    host,
    ready,
    stderr: () => stderr,
    async shutdown() {
      await host.request('sidecar/shutdown', { deadlineMs: 3_000 }, (value) => value).catch(() => {})
      host.close()
      await exited
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
