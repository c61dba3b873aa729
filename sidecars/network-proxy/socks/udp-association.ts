/**
 * One UDP association: datagrams of one loopback client to judged destinations, and their answers back.
 * It lives as long as its TCP control connection, and a refused datagram never ends it.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Admission, Attempt } from '../admission.ts'
import { ClientPresence } from '../client-presence.ts'
import type { Attribution } from '../leases.ts'
import type { LiveConnection, LiveConnections } from '../live-connections.ts'
import { canonicalHost, InvalidHost } from '../../protocol/host-pattern.ts'
import type { Destination } from '../policy/rule-table.ts'
import type { ConnectionLog } from '../records/connection-log.ts'
import type { ConnectionRecord } from '../records/connection-record.ts'
import type { ByteSocket } from '../../tcp/byte-socket.ts'
import { REPLY, writeReply } from './socks-wire.ts'
import { readUdpRequest, writeUdpReply } from './udp-datagram.ts'

const MAX_DESTINATIONS = 64
/** Datagrams kept per destination while its name is looked up; more are dropped, as networks do. */
const MAX_WAITING = 16
const DESTINATION_IDLE_MS = 60_000
/** A verdict is used this long before the policy is asked again. */
const VERDICT_MS = 5000

export interface UdpServing {
  admission: Admission
  live: LiveConnections
  log: ConnectionLog
}

/** One destination of an association. */
interface Flow {
  destination: Destination
  record: ConnectionRecord
  /** Connected to the judged address, so that the kernel drops what anybody else sends. */
  socket: UdpSocket | undefined
  address: string
  /** Datagrams that wait for lookup and connect; undefined once the flow stands. */
  waiting: Buffer[] | undefined
  judgedAtMs: number
  usedAtMs: number
}

export class UdpAssociation implements LiveConnection {
  readonly destination = undefined
  readonly opaque = false
  private readonly relay: UdpSocket
  private readonly flows = new Map<string, Flow>()
  private readonly presence = new ClientPresence()
  private client: { address: string; port: number } | undefined
  private ended = false

  constructor(
    private readonly control: ByteSocket,
    readonly attribution: Attribution,
    private readonly serving: UdpServing,
    private readonly declaredPort: number,
  ) {
    this.relay = createSocket(isIPv6(control.localAddress ?? '') ? 'udp6' : 'udp4')
    this.relay.on('error', () => this.end())
    this.relay.on('message', (datagram, from) => this.onClientDatagram(datagram, from))
  }

  /** Binds to the address of the control connection, which is loopback, and answers the client. */
  start(): void {
    this.serving.live.add(this)
    this.control.on('data', () => {})
    this.control.on('end', () => this.end())
    this.control.on('close', () => this.end())
    // Its last reader may have held it back.
    this.control.resume()
    this.relay.bind({ address: this.control.localAddress ?? '127.0.0.1', port: 0, exclusive: true }, () => {
      if (!this.ended) this.control.write(writeReply(REPLY.ok, this.relay.address()))
    })
  }

  private onClientDatagram(datagram: Buffer, from: RemoteInfo): void {
    if (!this.isClient(from)) return
    const request = readUdpRequest(datagram)
    if (!request || request.port === 0) return
    const destination = this.destinationOf(request.text ?? '', request.port)
    if (destination) this.send(destination, Buffer.from(request.payload))
  }

  /** The first sender on the control connection's own address is the client; nobody else is heard. */
  private isClient({ address, port }: RemoteInfo): boolean {
    if (this.client) return this.client.port === port && this.client.address === address
    if (address !== this.control.remoteAddress) return false
    if (this.declaredPort !== 0 && this.declaredPort !== port) return false
    this.client = { address, port }
    return true
  }

  private destinationOf(text: string, port: number): Destination | undefined {
    try {
      return { host: canonicalHost(text), port, protocol: 'socks5Udp' }
    } catch (error) {
      if (error instanceof InvalidHost) return undefined
      throw error
    }
  }

  private send(destination: Destination, payload: Buffer): void {
    const nowMs = this.serving.log.nowMs()
    const key = `${destination.host} ${destination.port}`
    const flow = this.flows.get(key)
    if (!flow) return this.openFlow(key, destination, payload, nowMs)
    if (nowMs - flow.judgedAtMs > VERDICT_MS && !this.judgeAgain(key, flow, nowMs)) return
    flow.usedAtMs = nowMs
    if (flow.waiting) {
      if (flow.waiting.length < MAX_WAITING) flow.waiting.push(payload)
    } else this.transmit(flow, payload)
  }

  private judgeAgain(key: string, flow: Flow, nowMs: number): boolean {
    flow.judgedAtMs = nowMs
    const ruling = this.serving.admission.judge(flow.destination, this.attribution)
    if (ruling.verdict !== 'deny') return true
    flow.record.blocked(ruling.refusal, nowMs)
    this.closeFlow(key, flow)
    return false
  }

  private openFlow(key: string, destination: Destination, payload: Buffer, nowMs: number): void {
    const { admission, log } = this.serving
    const ruling = admission.judge(destination, this.attribution)
    const client = this.client && { remoteAddress: this.client.address, remotePort: this.client.port }
    if (ruling.verdict === 'deny') return void log.block(destination, this.attribution, client, ruling.refusal)
    if (this.flows.size >= MAX_DESTINATIONS) return
    const record = log.open(destination, this.attribution, client)
    // While the owner is asked nothing is kept: a datagram that waits for a person is worthless.
    const waiting = ruling.verdict === 'ask' ? [] : [payload]
    const flow: Flow = {
      destination,
      record,
      socket: undefined,
      address: '',
      waiting,
      judgedAtMs: nowMs,
      usedAtMs: nowMs,
    }
    this.flows.set(key, flow)
    const attempt: Attempt = { destination, attribution: this.attribution, record, presence: this.presence }
    void this.prepare(key, flow, attempt, ruling)
  }

  private async prepare(
    key: string,
    flow: Flow,
    attempt: Attempt,
    ruling: Parameters<Admission['admit']>[1],
  ): Promise<void> {
    const { admission, log } = this.serving
    const admitted = await admission.admit(attempt, ruling)
    const resolved = admitted.allowed ? await admission.locate(flow.destination, admitted.exempt) : admitted
    if (this.ended) return flow.record.closed(log.nowMs())
    if ('refusal' in resolved) {
      flow.record.blocked(resolved.refusal, log.nowMs())
      this.flows.delete(key)
      return
    }
    this.connectFlow(key, flow, resolved.addresses[0]!)
  }

  private connectFlow(key: string, flow: Flow, address: string): void {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    flow.socket = socket
    flow.address = address
    flow.record.connected(address)
    // Unreachable ports surface here; the client sees silence, as without a proxy.
    socket.on('error', () => {
      if (flow.waiting) this.closeFlow(key, flow)
    })
    socket.on('message', (payload) => this.onAnswer(flow, payload))
    socket.connect(flow.destination.port, address, () => {
      const { waiting } = flow
      flow.waiting = undefined
      for (const payload of waiting ?? []) this.transmit(flow, payload)
    })
  }

  private transmit(flow: Flow, payload: Buffer): void {
    flow.record.bytesOut += payload.length
    flow.socket?.send(payload, () => {})
  }

  private onAnswer(flow: Flow, payload: Buffer): void {
    if (!this.client || this.ended) return
    flow.record.bytesIn += payload.length
    flow.usedAtMs = this.serving.log.nowMs()
    const { address, port } = this.client
    this.relay.send(writeUdpReply(flow.address, flow.destination.port, payload), port, address, () => {})
  }

  private closeFlow(key: string, flow: Flow): void {
    this.flows.delete(key)
    flow.record.closed(this.serving.log.nowMs())
    if (flow.socket) {
      flow.socket.removeAllListeners('message')
      closeQuietly(flow.socket)
      flow.socket = undefined
    }
  }

  tick(nowMs: number): void {
    for (const [key, flow] of this.flows) if (nowMs - flow.usedAtMs > DESTINATION_IDLE_MS) this.closeFlow(key, flow)
  }

  /** Rules changed: every flow is judged again with its next datagram. */
  rulesChanged(): void {
    for (const flow of this.flows.values()) flow.judgedAtMs = Number.NEGATIVE_INFINITY
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    this.presence.leave()
    for (const [key, flow] of this.flows) this.closeFlow(key, flow)
    closeQuietly(this.relay)
    this.control.destroy()
    this.serving.live.delete(this)
  }
}

/** Closing a socket that never bound throws. */
function closeQuietly(socket: UdpSocket): void {
  try {
    socket.close()
  } catch {
    // It is closed already, which is all that was wanted.
  }
}
