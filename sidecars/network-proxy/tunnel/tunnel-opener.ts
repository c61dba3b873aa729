/** From a request for a tunnel (CONNECT or SOCKS) to a running one, or to a refusal on the client's wire. */
import type { Admission, Attempt } from '../admission.ts'
import type { ClientConnection } from '../client-connection.ts'
import type { Opened } from '../dial/route.ts'
import type { UpstreamConnection } from '../dial/upstream-connection.ts'
import type { Attribution } from '../leases.ts'
import type { LiveConnections } from '../live-connections.ts'
import type { Ruling } from '../policy/policy.ts'
import type { Refusal } from '../policy/refusal.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { Tunnel, type ServerNames } from './tunnel.ts'

/** The client's end while its tunnel is not open yet. Exactly one of these is called, once. */
export interface TunnelClient {
  readonly connection: ClientConnection
  /**
   * Says yes on the wire and lets go of the connection. `outgoing` is the connection to the destination, for
   * protocols that tell its address. Returns the bytes that the client sent already.
   */
  accept(outgoing: ByteSocket | undefined): Buffer | undefined
  refuse(refusal: Refusal): void
  /** The destination cannot be had; `code` is the operating system's. */
  fail(code: string, message: string): void
}

/** Opens the tunnels that must be looked into. */
export interface TunnelInspector {
  /** True when the traffic to this destination has to be read instead of relayed. */
  wants(attempt: Attempt): boolean
  /** True when it has to be read and cannot be. */
  refuses(attempt: Attempt): boolean
  /**
   * Takes over a client that was told yes and believes to talk to the destination. `exempt` goes to
   * `Admission.connect` as it is. The inspector owns `socket` (its error listener is attached), the
   * record, and an entry in `LiveConnections`, from here on.
   */
  handleTunnel(socket: ByteSocket, attempt: Attempt, options: { exempt: boolean; early: Buffer | undefined }): void
}

/** Open tunnels; the next one is refused. A build opens a few hundred, a leak opens thousands. */
const MAX_TUNNELS = 8192

export class TunnelOpener implements ServerNames {
  inspector: TunnelInspector | undefined

  constructor(
    private readonly admission: Admission,
    private readonly live: LiveConnections,
    private readonly log: ConnectionLog,
  ) {}

  async open(client: TunnelClient, attempt: Attempt, ruling: Ruling): Promise<void> {
    const { record, presence } = attempt
    const admitting = this.admission.admit(attempt, ruling)
    const admitted = admitting instanceof Promise ? await admitting : admitting
    if (presence.left) return record.closed(this.log.nowMs())
    if (!admitted.allowed) return this.refuse(client, attempt, admitted.refusal)
    if (this.live.size >= MAX_TUNNELS)
      return this.refuse(client, attempt, { reason: 'too_many_tunnels', source: 'proxy_state' })
    if (this.inspector?.refuses(attempt))
      return this.refuse(client, attempt, { reason: 'mitm_required', source: 'mode_guard' })
    if (this.inspector?.wants(attempt)) return this.inspect(this.inspector, client, attempt, admitted.exempt)
    if (this.admission.needsInspection(attempt))
      return this.refuse(client, attempt, { reason: 'mitm_required', source: 'mode_guard' })
    const connected = await this.admission.connect(attempt, { exempt: admitted.exempt })
    switch (connected.kind) {
      case 'abandoned':
        return record.closed(this.log.nowMs())
      case 'refused':
        return this.refuse(client, attempt, connected.refusal)
      case 'failed':
        record.failed(connected.message, this.log.nowMs())
        return client.fail(connected.code, connected.message)
      case 'connected':
        return this.relay(client, attempt, connected)
    }
  }

  permits(host: string, destination: Destination, attribution: Attribution): boolean {
    return this.admission.judge({ ...destination, host }, attribution).verdict === 'allow'
  }

  private refuse(client: TunnelClient, { record }: Attempt, refusal: Refusal): void {
    record.blocked(refusal, this.log.nowMs())
    client.refuse(refusal)
  }

  private inspect(inspector: TunnelInspector, client: TunnelClient, attempt: Attempt, exempt: boolean): void {
    const early = client.accept(undefined)
    inspector.handleTunnel(client.connection.release(), attempt, { exempt, early })
  }

  private relay(client: TunnelClient, attempt: Attempt, opened: Opened): void {
    this.relayOpened(client.connection, attempt, opened, client.accept(opened.upstream.socket))
  }

  /** Relays unread between a client that was told yes and the connection that was opened for it. */
  relayOpened(
    client: ClientConnection,
    attempt: Omit<Attempt, 'presence'>,
    opened: Opened,
    early: Buffer | undefined,
  ): void {
    const { destination, attribution, record } = attempt
    if (opened.early) client.socket.write(opened.early)
    const { live, log } = this
    const { upstream } = opened
    new Tunnel({ client, upstream, destination, attribution, record, names: this, live, log }).start(early)
  }

  /** Relays a connection that switched protocols: judged as a request already, and no TLS inside. */
  relayUpgraded(
    client: ClientConnection,
    upstream: UpstreamConnection,
    attempt: Omit<Attempt, 'presence'>,
    early: Buffer | undefined,
  ): void {
    const { live, log } = this
    new Tunnel({ ...attempt, client, upstream, names: undefined, live, log }).start(early)
  }
}
