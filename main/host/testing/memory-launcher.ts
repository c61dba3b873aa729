import { object, unknown } from '../../../sidecars/protocol/decode.ts'
import {
  initializeParams,
  SIDECAR_NAMES,
  type InitializeParams,
  type SidecarName,
} from '../../../sidecars/protocol/host-channel.ts'
import { memoryPair } from '../../../sidecars/rpc/memory-transport.ts'
import { RpcPeer } from '../../../sidecars/rpc/peer.ts'
import type { Launcher, LaunchOptions, SidecarChild, SidecarExit } from '../../supervisor/launcher.ts'

/** Beyond the largest pid of any system, so that nothing real is ever looked at or signalled. */
const NO_PID = 2 ** 30

/** One life of a stand-in sidecar: a real peer on the other end of the host's channel. */
export interface MemorySidecar {
  name: SidecarName
  generation: number
  peer: RpcPeer
  /** What the host said in `sidecar/initialize`; undefined before. */
  params: InitializeParams | undefined
  /** Configurations that came later. */
  configured: unknown[]
  /** Ends it as a crash would. */
  crash(reason: string): void
}

/**
 * Starts sidecars that are peers in this process. `prepare` registers what a test wants them to answer;
 * the life cycle is answered here.
 */
export class MemoryLauncher implements Launcher {
  readonly started: MemorySidecar[] = []

  constructor(private readonly prepare: (sidecar: MemorySidecar) => void = () => {}) {}

  /** The newest life of a sidecar. */
  running(name: SidecarName): MemorySidecar {
    const sidecar = this.started.findLast((candidate) => candidate.name === name)
    if (!sidecar) throw new Error(`${name} was never started`)
    return sidecar
  }

  launch(name: SidecarName, { generation }: LaunchOptions): Promise<SidecarChild> {
    const [hostEnd, sidecarEnd] = memoryPair(name)
    let exit: (exit: SidecarExit) => void = () => {}
    const exited = new Promise<SidecarExit>((resolve) => (exit = resolve))
    const end = (reason: string) => {
      sidecarEnd.close(reason)
      exit({ code: 1, signal: null, reason })
    }
    const peer = new RpcPeer(sidecarEnd)
    const sidecar: MemorySidecar = { name, generation, peer, params: undefined, configured: [], crash: end }
    peer
      .onRequest('sidecar/initialize', initializeParams, (params) => {
        sidecar.params = params
        return { protocolVersion: 1, name, version: '0', pid: NO_PID, endpoints: { unix: `/run/${name}.sock` } }
      })
      .onRequest('sidecar/configure', object({ config: unknown }), ({ config }) => {
        sidecar.configured.push(config)
        return {}
      })
      .onRequest('sidecar/ping', unknown, () => ({}))
      .onRequest('sidecar/shutdown', unknown, () => {
        setImmediate(() => end('was stopped'))
        return {}
      })
    this.prepare(sidecar)
    peer.start()
    this.started.push(sidecar)
    return Promise.resolve({
      pid: NO_PID + SIDECAR_NAMES.indexOf(name),
      transport: hostEnd,
      exited,
      onStderr: () => {},
      kill: () => end('was killed'),
    })
  }
}
