/** Bytes both ways between a client and a destination, with half-close and back-pressure on each side. */
import type { ClientConnection, ClientSink } from '../client-connection.ts'
import type { UpstreamConnection, UpstreamSink } from '../dial/upstream-connection.ts'
import type { Attribution } from '../leases.ts'
import type { LiveConnection, LiveConnections } from '../live-connections.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import { TLS_HANDSHAKE } from './client-hello.ts'
import { ServerNameGuard } from './server-name-guard.ts'
import { resetSocket } from '../../tcp/reset-socket.ts'
import { forwardBytes, isBehind, resumeWhenTaken } from '../tcp/bulk-reader.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'

/** An idle tunnel ends after this; chat and build clients are silent for a long time. */
export const IDLE_LIMIT_MS = 60 * 60 * 1000
/** A client that starts TLS has to finish its hello in this time. */
export const HELLO_LIMIT_MS = 5000

/** More is no message whose answer somebody waits for. */
const QUESTION_BYTES = 4 * 1024

/** Who may be named by the TLS greeting inside a tunnel. */
export interface ServerNames {
  /** Whether the policy allows `host` (canonical) in place of the tunnel's own, without asking anybody. */
  permits(host: string, destination: Destination, attribution: Attribution): boolean
}

export interface TunnelParts {
  client: ClientConnection
  upstream: UpstreamConnection
  destination: Destination
  attribution: Attribution
  record: ConnectionRecord
  /** Absent for tunnels that carry no TLS of the client, such as an upgraded WebSocket. */
  names: ServerNames | undefined
  live: LiveConnections
  log: ConnectionLog
}

export class Tunnel implements UpstreamSink, ClientSink, LiveConnection {
  readonly takesLent = true
  readonly opaque: boolean
  place: LiveConnection['place']
  readonly destination: Destination
  readonly attribution: Attribution
  private readonly connection: ClientConnection
  private readonly client: ByteSocket
  private readonly upstream: UpstreamConnection
  private readonly record: ConnectionRecord
  private readonly live: LiveConnections
  private readonly log: ConnectionLog
  private readonly openedAtMs: number
  /** Set until the client's first bytes have told whether it speaks TLS. */
  private names: ServerNames | undefined
  private guard: ServerNameGuard | undefined
  private bytesSeen = 0
  private activeAtMs: number
  private ended = false

  /** Takes over both connections. */
  constructor(parts: TunnelParts) {
    this.destination = parts.destination
    this.attribution = parts.attribution
    this.connection = parts.client
    this.client = parts.client.socket
    this.upstream = parts.upstream
    this.record = parts.record
    this.live = parts.live
    this.log = parts.log
    this.names = parts.names
    this.opaque = parts.names !== undefined
    this.openedAtMs = this.activeAtMs = parts.log.nowMs()
  }

  /** Starts relaying; `early` are client bytes that came before the tunnel stood. */
  start(early: Buffer | undefined): void {
    this.live.add(this)
    this.upstream.sink = this
    this.connection.sink = this
    // Whatever comes, comes after this turn.
    if (!this.connection.ended) this.connection.resume()
    if (early !== undefined && early.length > 0) this.onClientBytes(early)
    if (this.connection.ended) this.onClientEnd()
  }

  onClientBytes(bytes: Buffer): void {
    if (this.names) this.watchGreeting(this.names, bytes)
    // The guard keeps what it was given.
    if (this.guard) return this.inspectHello(this.guard, Buffer.from(bytes))
    this.record.bytesOut += bytes.length
    forwardBytes(this.connection, this.upstream.socket, bytes, this.onUpstreamTaken)
    if (bytes.length <= QUESTION_BYTES) this.upstream.expectAnswer()
  }
  private readonly onUpstreamTaken = (): void => resumeWhenTaken(this.connection, this.upstream.socket)

  private watchGreeting(names: ServerNames, bytes: Buffer): void {
    this.names = undefined
    if (bytes[0] !== TLS_HANDSHAKE) return
    const { destination, attribution } = this
    this.guard = new ServerNameGuard(destination.host, (host) => names.permits(host, destination, attribution))
  }

  /** Sends bytes that nobody else will touch. */
  private sendUp(bytes: Buffer): void {
    this.record.bytesOut += bytes.length
    this.upstream.socket.write(bytes, this.onUpstreamTaken)
    if (isBehind(this.upstream.socket)) this.connection.pause()
  }

  private inspectHello(guard: ServerNameGuard, bytes: Buffer): void {
    const result = guard.push(bytes)
    if (result.kind === 'wait') return
    if (result.kind === 'pass') {
      this.guard = undefined
      return this.sendUp(result.bytes)
    }
    const detail =
      result.serverName === undefined ? 'the TLS greeting cannot be read' : `the tunnel asks for ${result.serverName}`
    this.end({ reason: 'sni_mismatch', source: 'baseline_policy', detail })
  }

  onDrain(): void {
    this.connection.resume()
  }

  onClientEnd(): void {
    if (this.guard) this.sendUp(this.guard.flush())
    this.guard = undefined
    this.upstream.socket.end()
  }

  onClientClose(): void {
    // With bytes of the client undelivered the origin must not take what it has for all.
    if (this.finish()) this.upstream.destroy(this.upstream.socket.writableLength > 0)
  }

  onBytes(bytes: Buffer): void {
    this.record.bytesIn += bytes.length
    forwardBytes(this.upstream, this.client, bytes, this.onClientTaken)
  }
  private readonly onClientTaken = (): void => resumeWhenTaken(this.upstream, this.client)

  onEnd(): void {
    this.client.end()
  }

  onClose(error: Error | undefined): void {
    if (!this.finish()) return
    // A clean end of both halves lets the client read what is queued; anything else must look torn.
    if (error || !this.client.writableEnded) resetSocket(this.client)
    else this.client.destroySoon()
  }

  end(refusal?: Refusal): void {
    if (refusal) this.record.blocked(refusal, this.log.nowMs())
    if (!this.finish()) return
    this.upstream.destroy(true)
    resetSocket(this.client)
  }

  tick(nowMs: number): void {
    if (this.guard && nowMs - this.openedAtMs > HELLO_LIMIT_MS)
      return this.end({
        reason: 'sni_mismatch',
        source: 'baseline_policy',
        detail: 'the TLS greeting did not arrive in time',
      })
    const bytes = this.record.bytesIn + this.record.bytesOut
    if (bytes !== this.bytesSeen) {
      this.bytesSeen = bytes
      this.activeAtMs = nowMs
    } else if (nowMs - this.activeAtMs > IDLE_LIMIT_MS) this.end()
  }

  /** True the first time. */
  private finish(): boolean {
    if (this.ended) return false
    this.ended = true
    this.upstream.sink = undefined
    this.connection.sink = undefined
    this.live.delete(this)
    this.record.closed(this.log.nowMs())
    return true
  }
}
