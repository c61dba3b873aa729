import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Actor } from '../../sidecars/protocol/decision.ts'
import { decode, unknown, type Decoder } from '../../sidecars/protocol/decode.ts'
import { RpcPeer } from '../../sidecars/rpc/peer.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import { listenUnix, socketTransport, type UnixListener } from '../../sidecars/rpc/unix-socket.ts'
import type { FeedBatch, FeedSnapshot, ProcessReadView } from '../../preload/api.ts'
import { intentArguments, type HostChannel } from '../intent-arguments.ts'
import {
  CONTROL_PROTOCOL_VERSION,
  helloParams,
  invokeParams,
  shellEnvironment,
  type HelloResult,
  type ProcessReadLines,
} from './control-protocol.ts'
import type { ControlledHost } from './controlled-host.ts'
import { serveRuns } from './serve-runs.ts'

export interface ControlServerOptions {
  /** Path of the socket, in a folder of mode 0700. */
  path: string
  host: ControlledHost
  /** Opens this socket. */
  controlToken: string
  /** Known here only to tell an agent why it is refused. */
  agentToken: string
  hello: Omit<HelloResult, 'protocolVersion'>
  /** The owner asks the host to stop; absent = this host stops in another way only. */
  requestStop?: () => void
  log: (message: string) => void
}

export interface ControlServer {
  /** Connections that said hello. */
  readonly clientCount: number
  /** How many there were since the start, those that left included. */
  readonly clientTotal: number
  /**
   * From now on a hello is answered `unavailable`, so that its client looks for the next host. Does
   * nothing and returns false while a client is connected.
   */
  refuseClients(): boolean
  close(): Promise<void>
}

const OWNER: Actor = { kind: 'person', via: 'command-line' }
/** A client that connects says hello at once. */
const HELLO_TIMEOUT_MS = 10_000
/** Long enough for a paste into a terminal; nothing bigger is sent to the host. */
const MAX_LINE_BYTES = 8 * 1024 * 1024

/**
 * Serves the command line. Who holds the control token acts as the owner, so an agent's token never
 * opens it, and nothing but `control/hello` is answered before.
 */
export async function startControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const room: Room = { clients: new Set(), isOpen: true, total: 0 }
  const listener: UnixListener = await listenUnix(options.path, (socket) => accept(socket, options, room))
  return {
    get clientCount() {
      return room.clients.size
    },
    get clientTotal() {
      return room.total
    },
    refuseClients: () => {
      if (room.clients.size === 0) room.isOpen = false
      return !room.isOpen
    },
    close: async () => {
      for (const client of room.clients) client.close('the host stops')
      await listener.close()
    },
  }
}

/** Who is in, and whether others may come in. */
interface Room {
  clients: Set<RpcPeer>
  isOpen: boolean
  total: number
}

function accept(socket: Socket, options: ControlServerOptions, room: Room): void {
  const { clients } = room
  const transport = socketTransport('control client', socket, { maxLineBytes: MAX_LINE_BYTES })
  // After the answer has left.
  const turnAway = () => setImmediate(() => peer.close('no control/hello'))
  const peer = new RpcPeer(transport, {
    onProblem: (problem) => {
      options.log(`control client: ${problem.kind}: ${problem.message}`)
      if (!clients.has(peer)) turnAway()
    },
    unknownMethod: (method) => {
      if (clients.has(peer)) return new RpcError('methodNotFound', `unknown method ${method}`)
      turnAway()
      return new RpcError('forbidden', 'the first request must be control/hello with the control token')
    },
  })
  const timer = setTimeout(() => peer.close('no control/hello'), HELLO_TIMEOUT_MS)
  void peer.closed.then(() => {
    clearTimeout(timer)
    clients.delete(peer)
  })
  peer.onRequest('control/hello', helloParams, ({ token, protocolVersion }): HelloResult => {
    requireControlToken(peer, token, options)
    if (protocolVersion !== CONTROL_PROTOCOL_VERSION)
      throw new RpcError(
        'invalidRequest',
        `the host speaks control protocol ${CONTROL_PROTOCOL_VERSION} and this client ${protocolVersion}; restart the older one`,
      )
    if (!room.isOpen) throw new RpcError('unavailable', 'the host is about to stop')
    clearTimeout(timer)
    if (!clients.has(peer)) {
      clients.add(peer)
      room.total++
      serveOwner(peer, options)
    }
    return { protocolVersion: CONTROL_PROTOCOL_VERSION, ...options.hello }
  })
  peer.start()
}

function requireControlToken(peer: RpcPeer, token: string, options: ControlServerOptions): void {
  if (isSameSecret(token, options.controlToken)) return
  // After the answer has left.
  setImmediate(() => peer.close('forbidden'))
  const isAgent = isSameSecret(token, options.agentToken)
  options.log(`control client refused: ${isAgent ? 'it presented the token of agents' : 'wrong token'}`)
  throw new RpcError(
    'forbidden',
    isAgent ? 'the token of agents does not open the control socket: agents cannot decide' : 'wrong control token',
  )
}

function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function serveOwner(peer: RpcPeer, { host, requestStop }: ControlServerOptions): void {
  peer.onRequest('host/invoke', invokeParams, async ({ channel, args }) => {
    if (!isHostChannel(channel))
      throw new RpcError('methodNotFound', `there is no channel ${channel} on the control socket`)
    const decoder: Decoder<unknown> = intentArguments[channel]
    const checked = decode(decoder, args, 'params.args')
    const result = await host.invoke(channel, checked as never, OWNER)
    return channel === 'processes.read' ? encodeRead(result as ProcessReadView) : result
  })
  peer.onRequest('shell/environment', shellEnvironment, async (shell) => ({
    environment: await host.shellEnvironment(shell),
  }))
  if (requestStop)
    peer.onRequest('host/stop', unknown, () => {
      // After the answer has left.
      setImmediate(requestStop)
      return {}
    })
  serveFeed(peer, host)
  serveRuns(peer, host)
}

function isHostChannel(name: string): name is HostChannel {
  return Object.hasOwn(intentArguments, name)
}

function encodeRead({ chunks, gap, nextSeq }: ProcessReadView): ProcessReadLines {
  const encoded = chunks.map(({ seq, stream, bytes }) => ({
    seq,
    stream,
    base64: Buffer.from(bytes).toString('base64'),
  }))
  return { chunks: encoded, gap, nextSeq }
}

/**
 * Batches go out while the client reads. When it does not, they are left out and `feed/stale` says so
 * once there is room: the client subscribes again and gets a snapshot.
 */
function serveFeed(peer: RpcPeer, host: ControlledHost): void {
  let dispose: (() => void) | undefined
  peer.onRequest('feed/subscribe', unknown, (): FeedSnapshot => {
    dispose?.()
    dispose = host.feed.subscribe((batch: FeedBatch) => {
      if (peer.notify('feed/batch', batch)) return
      dispose?.()
      dispose = undefined
      void peer.drained().then(() => peer.notify('feed/stale'))
    })
    return host.feed.snapshot()
  })
  void peer.closed.then(() => dispose?.())
}
