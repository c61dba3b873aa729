/** What a client speaks, told by its first byte, and who it is, where the connection itself says so. */
import type { ClientConnection, ClientSink } from './client-connection.ts'
import { errorResponse } from './http/error-response.ts'
import { ClientSession, type HttpServing } from './http/client-session.ts'
import { UNATTRIBUTED, type Attribution } from './leases.ts'
import type { LiveConnection } from './live-connections.ts'
import { parsePreface, PREFACE_BYTE } from './preface.ts'
import { resetSocket } from '../tcp/reset-socket.ts'
import { SOCKS4_REJECTED } from './socks/socks-wire.ts'
import { SocksSession, type SocksServing } from './socks/socks-session.ts'

const SOCKS4_BYTE = 0x04
const SOCKS5_BYTE = 0x05
/** A client that connects and says nothing, and a bridge that does not finish its preface. */
const FIRST_BYTES_LIMIT_MS = 60_000
const PREFACE_LIMIT_MS = 3000
const NO_SOCKS = errorResponse(400, 'SOCKS is switched off here, speak HTTP', false)

export interface IngressOptions {
  http: HttpServing
  /** Undefined when SOCKS is off. */
  socks: () => SocksServing | undefined
}

export class Ingress {
  constructor(readonly options: IngressOptions) {}

  /**
   * Takes over a fresh connection. `attribution` is set when its listener belongs to one lease.
   */
  accept(client: ClientConnection, attribution: Attribution | undefined): void {
    new Arrival(client, attribution, this).start()
  }

  /** Goes on with a client that has sent `first`. */
  dispatch(client: ClientConnection, first: Buffer, attribution: Attribution | undefined): void {
    const { http, socks } = this.options
    switch (first[0]) {
      case SOCKS4_BYTE:
        return end(client, socks() ? SOCKS4_REJECTED : NO_SOCKS)
      case SOCKS5_BYTE: {
        const serving = socks()
        if (serving) return new SocksSession(client, serving, attribution).start(first)
        return end(client, NO_SOCKS)
      }
      default:
        return new ClientSession(client, http, attribution).start(first)
    }
  }
}

/** A connection whose protocol is not known yet. */
class Arrival implements LiveConnection, ClientSink {
  readonly destination = undefined
  readonly opaque = false
  place: LiveConnection['place']
  private preface: Buffer | undefined
  private readonly sinceMs: number

  constructor(
    private readonly client: ClientConnection,
    private readonly listenerAttribution: Attribution | undefined,
    private readonly ingress: Ingress,
  ) {
    this.sinceMs = ingress.options.http.log.nowMs()
  }

  get attribution(): Attribution {
    return this.listenerAttribution ?? UNATTRIBUTED
  }

  start(): void {
    this.ingress.options.http.live.add(this)
    this.client.sink = this
  }

  onClientBytes(bytes: Buffer): void {
    if (this.preface === undefined && bytes[0] !== PREFACE_BYTE) return this.leave(bytes, this.listenerAttribution)
    this.preface = this.preface ? Buffer.concat([this.preface, bytes]) : bytes
    const parsed = parsePreface(this.preface)
    if (parsed === 'incomplete') return
    // Only the bridge writes prefaces, so an unknown lease in one is no client of ours.
    const attribution = parsed === 'malformed' ? undefined : this.ingress.options.http.leases.attribution(parsed.lease)
    if (parsed === 'malformed' || attribution?.leaseId === undefined) return this.refuse()
    const rest = this.preface.subarray(parsed.length)
    if (rest.length > 0) this.leave(rest, attribution)
  }

  private leave(first: Buffer, attribution: Attribution | undefined): void {
    this.detach()
    this.ingress.dispatch(this.client, first, attribution)
  }

  private refuse(): void {
    this.detach()
    resetSocket(this.client.socket)
  }

  onClientEnd(): void {
    this.end()
  }

  onClientClose(): void {
    this.end()
  }

  end(): void {
    this.detach()
    this.client.socket.destroy()
  }

  private detach(): void {
    this.client.sink = undefined
    this.ingress.options.http.live.delete(this)
  }

  tick(nowMs: number): void {
    if (nowMs - this.sinceMs > (this.preface ? PREFACE_LIMIT_MS : FIRST_BYTES_LIMIT_MS)) this.end()
  }
}

function end(client: ClientConnection, answer: Buffer): void {
  const socket = client.release()
  socket.write(answer)
  socket.end()
  socket.resume()
  socket.once('end', () => socket.destroySoon())
}
