import { unknown, type Decoder } from '../../sidecars/protocol/decode.ts'
import { RpcPeer } from '../../sidecars/rpc/peer.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { connectUnix, socketTransport } from '../../sidecars/rpc/unix-socket.ts'
import type { FeedBatch, FeedSnapshot, Invokes } from '../../preload/api.ts'
import type { HostChannel } from '../intent-arguments.ts'
import {
  helloResult,
  processReadLines,
  shellEnvironmentResult,
  type HelloResult,
  type ProcessReadLines,
} from './control-protocol.ts'
import type { HostFile } from './host-file.ts'

/** The host and its client are of one version, checked by `control/hello`; values are taken as they come. */
function trusted<T>(): Decoder<T> {
  return (value) => value as T
}

/** A connection of the owner to the running host. */
export class ControlClient {
  private constructor(
    readonly peer: RpcPeer,
    readonly host: HelloResult,
  ) {}

  /**
   * Connects and says hello.
   * @throws Error of the system when nobody listens, RpcError `forbidden` for a wrong token
   */
  static async connect(file: Pick<HostFile, 'controlSocket' | 'controlToken'>): Promise<ControlClient> {
    const socket = await connectUnix(file.controlSocket)
    const peer = new RpcPeer(socketTransport('the host', socket)).start()
    try {
      const hello = await peer.request('control/hello', { token: file.controlToken }, helloResult, {
        timeoutMs: 10_000,
      })
      return new ControlClient(peer, hello)
    } catch (error) {
      peer.close()
      throw error
    }
  }

  close(): void {
    this.peer.close()
  }

  invoke<C extends Exclude<HostChannel, 'processes.read'>>(
    channel: C,
    ...args: Invokes[C]['args']
  ): Promise<Invokes[C]['result']> {
    return this.peer.request('host/invoke', { channel, args }, trusted<Invokes[C]['result']>())
  }

  /** Stops the host; resolves once it has taken the wish, not when it is gone. */
  async stopHost(): Promise<void> {
    await this.peer.request('host/stop', {}, unknown, { timeoutMs: 10_000 })
  }

  /** Output with a sequence number beyond `afterSeq`, oldest first. */
  readProcess(id: string, afterSeq: number, maxBytes: number): Promise<ProcessReadLines> {
    return this.peer.request(
      'host/invoke',
      { channel: 'processes.read', args: [id, afterSeq, maxBytes] },
      processReadLines,
    )
  }

  /** Variables that lead the shell `pid` through the proxy; empty while the proxy is down. */
  async shellEnvironment(cwd: string, pid: number): Promise<{ environment: Record<string, string> }> {
    return this.peer.request('shell/environment', { cwd, pid }, shellEnvironmentResult)
  }

  /**
   * Calls `onSnapshot`, then `onBatch` for every later change in order; after a gap a new snapshot comes.
   * Once for each client.
   */
  async subscribe(onSnapshot: (snapshot: FeedSnapshot) => void, onBatch: (batch: FeedBatch) => void): Promise<void> {
    let rev: number | undefined
    let early: FeedBatch[] = []
    const take = (batch: FeedBatch) => {
      if (rev === undefined) return void early.push(batch)
      if (batch.rev <= rev) return
      if (batch.rev > rev + 1) return resubscribe()
      rev = batch.rev
      onBatch(batch)
    }
    const load = async () => {
      rev = undefined
      early = []
      const snapshot = await this.peer.request('feed/subscribe', {}, trusted<FeedSnapshot>())
      rev = snapshot.rev
      onSnapshot(snapshot)
      for (const batch of early.splice(0)) take(batch)
    }
    // A link that broke fails every request of the client; there is nothing to add here.
    const resubscribe = () => void load().catch(() => {})
    this.peer.onNotification('feed/batch', trusted<FeedBatch>(), take)
    this.peer.onNotification('feed/stale', unknown, resubscribe)
    await load()
  }
}

/** True for an error that says the host is gone or going. */
export function isHostGone(error: unknown): boolean {
  if (error instanceof RpcError) return error.code === 'disconnected' || error.code === 'unavailable'
  const code = (error as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ETIMEDOUT'
}
