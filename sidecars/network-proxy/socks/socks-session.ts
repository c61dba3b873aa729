/** One client connection that speaks SOCKS5: greeting, lease, one request, then a tunnel or UDP association. */
import type { ClientConnection, ClientSink } from '../client-connection.ts'
import { ClientPresence } from '../client-presence.ts'
import type { Admission, Attempt } from '../admission.ts'
import { UNATTRIBUTED, type Attribution, type LeaseRegistry } from '../leases.ts'
import type { LiveConnection, LiveConnections } from '../live-connections.ts'
import { canonicalHost, InvalidHost } from '../../protocol/host-pattern.ts'
import { refusalText, type Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import type { TunnelClient, TunnelOpener } from '../tunnel/tunnel-opener.ts'
import {
  COMMAND_CONNECT,
  COMMAND_UDP_ASSOCIATE,
  METHOD_NONE,
  METHOD_PASSWORD,
  METHOD_UNACCEPTABLE,
  PASSWORD_VERSION,
  readGreeting,
  readPassword,
  readRequest,
  REPLY,
  replyForError,
  SOCKS_VERSION,
  writeReply,
  type Reply,
  type SocksRequest,
} from './socks-wire.ts'
import { sshRefusal } from './ssh-refusal.ts'

/** Opens UDP associations; absent when UDP is off. */
export interface UdpRelay {
  /** Takes over the control connection and answers on it. `declared` is where the client says it will send from. */
  associate(control: ByteSocket, attribution: Attribution, declared: { port: number }): void
}

export interface SocksServing {
  admission: Admission
  leases: LeaseRegistry
  live: LiveConnections
  log: ConnectionLog
  tunnels: TunnelOpener
  udp: UdpRelay | undefined
}

/** Where what follows is sure to be SSH. */
const SSH_PORT = 22
const HANDSHAKE_LIMIT_MS = 30_000
const LINGER_MS = 2000
const MAX_AHEAD_BYTES = 64 * 1024

type State = 'greeting' | 'password' | 'request' | 'held' | 'closing' | 'ended'

export class SocksSession implements TunnelClient, LiveConnection, ClientSink {
  attribution: Attribution
  destination: Destination | undefined
  readonly opaque = false
  place: LiveConnection['place']
  private state: State = 'greeting'
  private received: Buffer | undefined
  private record: ConnectionRecord | undefined
  private readonly presence = new ClientPresence()
  private waitingSinceMs: number

  constructor(
    readonly connection: ClientConnection,
    private readonly serving: SocksServing,
    private readonly listenerAttribution: Attribution | undefined,
  ) {
    this.attribution = listenerAttribution ?? UNATTRIBUTED
    this.waitingSinceMs = serving.log.nowMs()
  }

  /** Takes over the connection; `early` was read from it already. */
  start(early: Buffer): void {
    this.serving.live.add(this)
    this.connection.sink = this
    this.onClientBytes(early)
  }

  private get socket(): ByteSocket {
    return this.connection.socket
  }

  onClientBytes(bytes: Buffer): void {
    if (this.state === 'closing' || this.state === 'ended') return
    this.received = this.received ? Buffer.concat([this.received, bytes]) : bytes
    if (this.state === 'held' && this.received.length > MAX_AHEAD_BYTES) this.connection.pause()
    while (this.received && this.step(this.received));
  }

  /** Reads the next message; false when it is not complete or nothing more is expected. */
  private step(bytes: Buffer): boolean {
    if (this.state === 'held') return false
    if (bytes[0] !== (this.state === 'password' ? PASSWORD_VERSION : SOCKS_VERSION)) {
      this.close()
      return false
    }
    switch (this.state) {
      case 'greeting':
        return this.take(readGreeting(bytes), (methods) => this.greet(methods))
      case 'password':
        return this.take(readPassword(bytes), (user) => this.identify(user))
      case 'request':
        return this.take(readRequest(bytes), (request) => this.begin(request))
      default:
        return false
    }
  }

  private take<T>(parsed: { value: T; length: number } | undefined, act: (value: T) => void): boolean {
    if (!parsed || !this.received) return false
    this.received = parsed.length < this.received.length ? this.received.subarray(parsed.length) : undefined
    act(parsed.value)
    return true
  }

  private greet(methods: Buffer): void {
    // A client that offers a password has a lease to show; without one it is nobody in particular.
    const method = methods.includes(METHOD_PASSWORD)
      ? METHOD_PASSWORD
      : methods.includes(METHOD_NONE)
        ? METHOD_NONE
        : METHOD_UNACCEPTABLE
    this.socket.write(Buffer.from([SOCKS_VERSION, method]))
    if (method === METHOD_UNACCEPTABLE) this.close()
    else this.state = method === METHOD_PASSWORD ? 'password' : 'request'
  }

  private identify(user: string): void {
    if (!this.listenerAttribution) this.attribution = this.serving.leases.attribution(user)
    this.socket.write(Buffer.from([PASSWORD_VERSION, 0]))
    this.state = 'request'
  }

  private begin({ command, text, port }: SocksRequest): void {
    if (command === COMMAND_UDP_ASSOCIATE && this.serving.udp) return this.beginUdp(this.serving.udp, port)
    if (command !== COMMAND_CONNECT) return this.answer(REPLY.commandNotSupported)
    let host: string
    try {
      host = canonicalHost(text ?? '')
    } catch (error) {
      if (!(error instanceof InvalidHost)) throw error
      return this.answer(REPLY.addressNotSupported)
    }
    if (port === 0) return this.answer(REPLY.failure)
    this.state = 'held'
    this.destination = { host, port, protocol: 'socks5Tcp' }
    this.openTunnel(this.destination)
  }

  private openTunnel(destination: Destination): void {
    const { admission, log, tunnels } = this.serving
    const { attribution, presence } = this
    const ruling = admission.judge(destination, attribution)
    if (ruling.verdict === 'deny') {
      log.block(destination, attribution, this.socket, ruling.refusal)
      return this.refuse(ruling.refusal)
    }
    this.record = log.open(destination, attribution, this.socket)
    const attempt: Attempt = { destination, attribution, record: this.record, presence }
    void tunnels.open(this, attempt, ruling)
  }

  private beginUdp(udp: UdpRelay, declaredPort: number): void {
    const { attribution } = this
    this.detach()
    udp.associate(this.connection.release(), attribution, { port: declaredPort })
  }

  accept(outgoing: ByteSocket | undefined): Buffer | undefined {
    const { received } = this
    const bound = { address: outgoing?.localAddress ?? '0.0.0.0', port: outgoing?.localPort ?? 0 }
    this.record = undefined
    this.detach()
    this.socket.write(writeReply(REPLY.ok, bound))
    return received
  }

  refuse(refusal: Refusal): void {
    if (this.destination?.port === SSH_PORT) return this.refuseSsh(refusal)
    this.answer(refusal.reason === 'dns_failed' ? REPLY.hostUnreachable : REPLY.notAllowed)
  }

  /** Nothing is connected; the client hears the reason where SOCKS has no words for it. */
  private refuseSsh(refusal: Refusal): void {
    this.socket.write(writeReply(REPLY.ok))
    this.socket.write(sshRefusal(refusalText(refusal)))
    this.close()
  }

  fail(code: string): void {
    this.answer(replyForError(code))
  }

  private answer(reply: Reply): void {
    this.socket.write(writeReply(reply))
    this.close()
  }

  private close(): void {
    this.state = 'closing'
    this.received = undefined
    this.destination = undefined
    this.waitingSinceMs = this.serving.log.nowMs()
    this.socket.end()
    this.connection.resume()
  }

  onClientEnd(): void {
    if (this.state !== 'held') this.socket.destroySoon()
    else if (this.record?.state === 'asked') this.end()
  }

  onClientClose(): void {
    this.end()
  }

  end(refusal?: Refusal): void {
    if (this.state === 'ended') return
    const { record } = this
    this.detach()
    this.presence.leave()
    const nowMs = this.serving.log.nowMs()
    if (refusal) record?.blocked(refusal, nowMs)
    record?.closed(nowMs)
    this.socket.destroy()
  }

  private detach(): void {
    this.state = 'ended'
    this.received = undefined
    this.destination = undefined
    this.connection.sink = undefined
    this.serving.live.delete(this)
  }

  tick(nowMs: number): void {
    if (this.state === 'held') return
    if (nowMs - this.waitingSinceMs > (this.state === 'closing' ? LINGER_MS : HANDSHAKE_LIMIT_MS)) this.end()
  }
}
