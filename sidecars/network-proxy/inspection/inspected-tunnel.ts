/**
 * An inspected tunnel until its client speaks HTTP: the TLS greeting is read, the certificate chosen, the
 * handshake done, and whoever speaks the agreed HTTP version takes over.
 */
import type { Attempt } from '../admission.ts'
import type { CertificateAuthority } from '../certificates/certificate-authority.ts'
import { ClientConnection } from '../client-connection.ts'
import { ClientSession, type HttpServing } from '../http/client-session.ts'
import type { LiveConnection } from '../live-connections.ts'
import { readHost } from '../policy/authority.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import { InvalidHost, isIpLiteral } from '../../protocol/host-pattern.ts'
import { readClientHello } from '../tunnel/client-hello.ts'
import { resetSocket } from '../../tcp/reset-socket.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { asStream } from '../../tcp/tcp-socket.ts'
import { H2Session } from './h2-session.ts'
import { InspectedSocket } from './inspected-socket.ts'
import { describeClientRefusal } from './tls-failure.ts'
import { InspectedScope } from './tunnel-scope.ts'

const HANDSHAKE_LIMIT_MS = 10_000
/** Servers of other protocols speak first; a client that waits for one is no TLS client. */
const SILENCE_LIMIT_MS = 1000
/** Fatal alert "access denied" of TLS 1.2, the one thing that can be said to a client before a handshake. */
const ACCESS_DENIED_ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 49])

export interface InspectedTunnelParts {
  /** Was told yes already; has an error listener. */
  socket: ByteSocket
  attempt: Attempt
  exempt: boolean
  serving: HttpServing
  authority: CertificateAuthority
  /** What turns out not to be TLS may be relayed unread. */
  mayRelay: boolean
}

export class InspectedTunnel implements LiveConnection {
  readonly opaque = false
  private held: Buffer | undefined
  private tls: InspectedSocket | undefined
  private readonly openedAtMs: number
  /** The limit of silence had passed at the last tick already. */
  private wasSilent = false
  private ended = false

  constructor(private readonly parts: InspectedTunnelParts) {
    this.openedAtMs = parts.serving.log.nowMs()
  }

  get destination(): Destination {
    return this.parts.attempt.destination
  }
  get attribution(): LiveConnection['attribution'] {
    return this.parts.attempt.attribution
  }

  start(early: Buffer | undefined): void {
    const { socket, serving, authority } = this.parts
    serving.live.add(this)
    // A new host's certificate is made while the client prepares its greeting.
    authority.contextFor(this.destination.host)
    socket.on('data', this.onBytes)
    socket.on('end', this.onEnd)
    socket.on('close', this.onClose)
    if (early !== undefined && early.length > 0) this.onBytes(early)
    if (!this.ended && !this.tls) socket.resume()
  }

  private readonly onBytes = (bytes: Buffer): void => {
    const held = this.held ? Buffer.concat([this.held, bytes]) : bytes
    this.held = held
    const hello = readClientHello(held)
    switch (hello.kind) {
      case 'incomplete':
        return
      case 'not-tls':
        if (this.parts.mayRelay) return void this.relay()
        return this.deny({
          reason: 'mitm_required',
          source: 'mode_guard',
          detail: 'what the client sent is not TLS',
        })
      case 'malformed':
        return this.deny({
          reason: 'sni_mismatch',
          source: 'baseline_policy',
          detail: 'the TLS greeting cannot be read',
        })
      case 'hello':
        return this.greet(hello.serverName)
    }
  }

  /** The host that the client means, or a refusal when that is not what the tunnel was opened for. */
  private greet(serverName: string | undefined): void {
    const { destination } = this
    const named = serverName === undefined ? destination.host : readServerName(serverName)
    if (named === destination.host) return this.handshake(destination, this.parts.exempt)
    // A client that resolved the name itself asks for an address and means the name, which rules speak about.
    if (named !== undefined && isIpLiteral(destination.host)) {
      const meant: Destination = { ...destination, host: named }
      const ruling = this.parts.serving.admission.judge(meant, this.attribution)
      if (ruling.verdict === 'allow') return this.handshake(meant, ruling.exempt)
    }
    this.deny({
      reason: 'sni_mismatch',
      source: 'baseline_policy',
      detail: `the tunnel is for ${destination.host} and asks for ${serverName}`,
    })
  }

  private handshake(destination: Destination, exempt: boolean): void {
    const { socket, authority } = this.parts
    // It may have gone while its tunnel was asked about, and its close is not told yet.
    if (socket.destroyed) return this.end()
    socket.off('data', this.onBytes)
    socket.off('end', this.onEnd)
    socket.pause()
    const raw = asStream(socket, this.held)
    this.held = undefined
    // TLS clients do not end one half: who ends has left.
    raw.allowHalfOpen = false
    const tls = new InspectedSocket(raw, authority.contextFor(destination.host))
    this.tls = tls
    let failure: Error | undefined
    tls.on('error', (error) => (failure = error))
    tls.once('close', () => this.failed(describeClientRefusal(failure)))
    tls.once('secure', () => this.secured(tls, destination, exempt))
  }

  private secured(tls: InspectedSocket, destination: Destination, exempt: boolean): void {
    if (!this.finish()) return void tls.destroy()
    tls.removeAllListeners('close')
    const { serving } = this.parts
    const { attribution } = this
    const record = this.recordFor(destination)
    record.inspected = true
    // The request for the tunnel itself is none of those inside.
    record.requests = 0
    const scope = new InspectedScope(destination.host, destination.port, record, attribution, serving.admission)
    if (tls.alpnProtocol === 'h2') new H2Session({ tls, serving, attribution, scope, exempt }).start()
    else new ClientSession(new ClientConnection(tls), serving, attribution, scope).start(Buffer.alloc(0))
  }

  private recordFor(destination: Destination): Attempt['record'] {
    const { attempt, serving } = this.parts
    if (destination === attempt.destination) return attempt.record
    attempt.record.closed(serving.log.nowMs())
    const record = serving.log.open(destination, attempt.attribution, this.parts.socket)
    record.allowed({ ruleId: attempt.record.ruleId })
    return record
  }

  /** Not TLS, and nothing demands that it is read. */
  private async relay(): Promise<void> {
    const { socket, attempt, exempt, serving } = this.parts
    const { held } = this
    if (!this.finish()) return
    const leave = () => attempt.presence.leave()
    socket.pause()
    socket.once('close', leave)
    const connected = await serving.admission.connect(attempt, { exempt })
    socket.off('close', leave)
    const nowMs = serving.log.nowMs()
    switch (connected.kind) {
      case 'connected':
        return serving.tunnels.relayOpened(new ClientConnection(socket), attempt, connected, held)
      case 'refused':
        attempt.record.blocked(connected.refusal, nowMs)
        break
      case 'failed':
        attempt.record.failed(connected.message, nowMs)
        break
      case 'abandoned':
        attempt.record.closed(nowMs)
    }
    resetSocket(socket)
  }

  private deny(refusal: Refusal): void {
    if (!this.finish()) return
    const { socket, attempt, serving } = this.parts
    attempt.record.blocked(refusal, serving.log.nowMs())
    socket.write(ACCESS_DENIED_ALERT)
    socket.end()
    socket.resume()
    socket.destroySoon()
  }

  private failed(problem: string): void {
    if (!this.finish()) return
    this.parts.attempt.record.failed(problem, this.parts.serving.log.nowMs())
    this.parts.socket.destroy()
  }

  private readonly onEnd = (): void => this.end()
  private readonly onClose = (): void => {
    if (!this.tls) this.end()
  }

  end(refusal?: Refusal): void {
    if (!this.finish()) return
    const { socket, attempt, serving } = this.parts
    if (refusal) attempt.record.blocked(refusal, serving.log.nowMs())
    attempt.record.closed(serving.log.nowMs())
    this.tls?.destroy()
    socket.destroy()
  }

  tick(nowMs: number): void {
    const waitedMs = nowMs - this.openedAtMs
    if (!this.held && !this.tls && this.parts.mayRelay && this.destination.port !== 443) {
      // A process that was held up finds the greeting unread; by the next tick it has been read.
      if (waitedMs > SILENCE_LIMIT_MS && this.wasSilent) void this.relay()
      this.wasSilent = waitedMs > SILENCE_LIMIT_MS
    } else if (waitedMs > HANDSHAKE_LIMIT_MS) this.failed('the client did not finish its TLS handshake in 10 seconds')
  }

  /** True the first time. */
  private finish(): boolean {
    if (this.ended) return false
    this.ended = true
    this.held = undefined
    const { socket, serving } = this.parts
    socket.off('data', this.onBytes)
    socket.off('end', this.onEnd)
    socket.off('close', this.onClose)
    serving.live.delete(this)
    return true
  }
}

function readServerName(text: string): string | undefined {
  try {
    return readHost(text)
  } catch (error) {
    if (error instanceof InvalidHost) return undefined
    throw error
  }
}
