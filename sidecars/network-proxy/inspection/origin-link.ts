/** The way from an HTTP/2 client to its origin: one HTTP/2 connection where the origin speaks it, else HTTP/1.1. */
import { Agent } from 'node:http'
import { connect, type ClientHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Admission, Attempt } from '../admission.ts'
import { hostValue } from '../http/forwarded-head.ts'
import type { Refusal } from '../policy/refusal.ts'

export type Origin = { kind: 'h2'; session: ClientHttp2Session } | { kind: 'h1'; agent: Agent }

/** No connection to the origin: refused by a guard, or `message` names the hop that failed. */
export class OriginUnavailable extends Error {
  constructor(
    message: string,
    readonly refusal: Refusal | undefined,
  ) {
    super(message)
    this.name = 'OriginUnavailable'
  }
}

export interface OriginLinkParts {
  admission: Admission
  attempt: Attempt
  exempt: boolean
}

const PROTOCOLS = ['h2', 'http/1.1']
const WINDOW_BYTES = 1024 * 1024
const SESSION_WINDOW_BYTES = 8 * 1024 * 1024

export class OriginLink {
  private current: Promise<Origin> | undefined
  private agent: OriginAgent | undefined
  private readonly sessions = new Set<ClientHttp2Session>()
  private closed = false

  constructor(private readonly parts: OriginLinkParts) {}

  /** The Host field's value for this origin. */
  get hostValue(): string {
    const { host, port } = this.parts.attempt.destination
    return hostValue({ host, port, tls: true })
  }

  /** @throws OriginUnavailable */
  acquire(): Promise<Origin> {
    this.current ??= this.open().catch((error: unknown) => {
      this.current = undefined
      throw error
    })
    return this.current
  }

  private async open(): Promise<Origin> {
    const socket = await this.handshake(PROTOCOLS)
    if (socket.alpnProtocol === 'h2') return { kind: 'h2', session: this.startSession(socket) }
    this.agent = new OriginAgent(socket, () => this.handshake(['http/1.1']))
    return { kind: 'h1', agent: this.agent }
  }

  private startSession(socket: TLSSocket): ClientHttp2Session {
    const session = connect(`https://${this.hostValue}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
    })
    this.sessions.add(session)
    // The next request makes a new connection; streams of this one end by themselves.
    const retire = () => {
      if (this.sessions.delete(session)) this.current = undefined
    }
    session.once('remoteSettings', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
    session.on('goaway', retire)
    session.on('error', retire)
    session.on('close', retire)
    return session
  }

  private async handshake(protocols: readonly string[]): Promise<TLSSocket> {
    const secured = await this.parts.admission.connectSecure(this.parts.attempt, {
      exempt: this.parts.exempt,
      protocols,
    })
    if (secured.kind === 'secured' && !this.closed) return secured.socket
    if (secured.kind === 'secured') secured.socket.destroy()
    if (secured.kind === 'refused') throw new OriginUnavailable('the destination is refused', secured.refusal)
    throw new OriginUnavailable(secured.kind === 'failed' ? secured.message : 'the client left', undefined)
  }

  close(): void {
    this.closed = true
    for (const session of this.sessions) session.destroy()
    this.agent?.destroy()
  }
}

/** Connections of HTTP/1.1 to one origin; the first exists already. */
class OriginAgent extends Agent {
  constructor(
    private first: TLSSocket | undefined,
    private readonly handshake: () => Promise<TLSSocket>,
  ) {
    super({ keepAlive: true })
  }

  /** Called by node:http, which waits for the callback when nothing is returned. */
  override createConnection(_options: unknown, callback?: (error: Error | null, socket: Duplex) => void): undefined {
    if (callback) void this.connect(callback as (error: Error | null, socket?: Duplex) => void)
    return undefined
  }

  private async connect(callback: (error: Error | null, socket?: Duplex) => void): Promise<void> {
    const { first } = this
    this.first = undefined
    let socket: TLSSocket
    try {
      socket = first && !first.destroyed ? first : await this.handshake()
    } catch (error) {
      return callback(error as Error)
    }
    callback(null, socket)
  }

  override destroy(): void {
    this.first?.destroy()
    super.destroy()
  }
}
