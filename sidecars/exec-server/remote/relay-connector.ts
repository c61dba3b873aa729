import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'
import { Delivery } from '../../rpc/delivery.ts'
import { OutgoingGauge } from '../../rpc/outgoing-gauge.ts'
import type { CloseReason, Transport, TransportHandlers } from '../../rpc/transport.ts'
import type { ExecConnector } from '../client/carrier.ts'
import { Initiator, type SecureChannel } from './noise-handshake.ts'
import { HybridKeys } from './noise-keys.ts'
import { RecordChannel } from './record-channel.ts'
import { Registry, type RegistryOptions } from './registry.ts'
import { formatRelayFrame, parseRelayFrame, type RelayBody } from './relay-frame.ts'

const MAX_FRAME_BYTES = 262_144
const PING_INTERVAL_MS = 30_000

/**
 * Reaches an executor that is registered for an environment, by way of the rendezvous that the registry names. Every
 * connection asks for its own authorization; the keys stay the same.
 */
export function relayConnector(options: RegistryOptions): ExecConnector {
  const registry = new Registry(options)
  const keys = HybridKeys.generate()
  const { environmentId } = options
  return async (signal) => {
    const bundle = await registry.connect(keys.public, signal)
    const streamId = randomUUID()
    const { registrationId } = bundle
    const initiator = new Initiator(keys, bundle.executorKeys, { environmentId, registrationId, streamId })
    const socket = await openSocket(bundle.url, signal)
    const say = (body: RelayBody, onSent = () => {}) =>
      socket.send(formatRelayFrame({ streamId, body }), { binary: true }, () => onSent())
    try {
      say({ kind: 'resume' })
      say({ kind: 'handshake', payload: initiator.firstMessage(Buffer.from(bundle.authorization)) })
      const channel = initiator.finish(await answerOf(socket, streamId, signal))
      return { transport: new RelayTransport(`executor ${environmentId}`, socket, streamId, channel, say) }
    } catch (error) {
      socket.terminate()
      throw error
    }
  }
}

function openSocket(url: string, signal: AbortSignal): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const socket = new WebSocket(url, { perMessageDeflate: false, followRedirects: false, maxPayload: MAX_FRAME_BYTES })
    // Nothing is missed between two listeners.
    socket.pause()
    const onAbort = () => socket.terminate()
    signal.addEventListener('abort', onAbort, { once: true })
    // Stays for the errors that follow a terminate.
    socket.on('error', (error) =>
      reject(new Error(`no connection to the rendezvous: ${error.message}`, { cause: error })),
    )
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort)
      reject(new Error('the rendezvous closed the connection'))
    })
    socket.once('open', () => resolve(socket))
  })
}

/** The executor's half of the handshake. */
function answerOf(socket: WebSocket, streamId: string, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      socket.off('message', onMessage)
      socket.off('close', onClose)
      signal.removeEventListener('abort', onClose)
      socket.pause()
      act()
    }
    const onClose = () => settle(() => reject(new Error('the rendezvous closed the connection during the handshake')))
    const onMessage = (data: Buffer) => {
      try {
        const { streamId: to, body } = parseRelayFrame(data)
        if (to !== streamId || body.kind === 'other' || body.kind === 'resume') return
        if (body.kind !== 'handshake') throw new Error('the executor refused the connection')
        settle(() => resolve(body.payload))
      } catch (error) {
        settle(() => reject(error as Error))
      }
    }
    socket.on('message', onMessage)
    socket.once('close', onClose)
    signal.addEventListener('abort', onClose, { once: true })
    socket.resume()
  })
}

/** The messages of one stream. Text and frames that cannot be read end it: nobody else has reason to send any. */
class RelayTransport implements Transport {
  private readonly delivery = new Delivery()
  private readonly gauge = new OutgoingGauge()
  private readonly records: RecordChannel
  private readonly pinger: NodeJS.Timeout

  constructor(
    readonly label: string,
    private readonly socket: WebSocket,
    private readonly streamId: string,
    channel: SecureChannel,
    private readonly say: (body: RelayBody, onSent?: () => void) => void,
  ) {
    this.records = new RecordChannel(channel, (message) =>
      this.delivery.message(message.toString('utf8'), message.length),
    )
    this.pinger = setInterval(() => socket.ping(), PING_INTERVAL_MS).unref()
    socket.on('message', (data: Buffer, isBinary: boolean) => this.receive(data, isBinary))
    socket.once('close', () => this.end({ code: 'remote', message: 'the rendezvous closed the connection' }))
    socket.resume()
  }

  get queuedBytes(): number {
    return this.gauge.queuedBytes
  }
  start(handlers: TransportHandlers): void {
    this.delivery.start(handlers)
  }
  send(text: string): boolean {
    if (this.delivery.ended) return true
    let hasRoom = true
    for (const { seq, payload } of this.records.seal(Buffer.from(text))) {
      hasRoom = this.gauge.add(payload.length)
      this.say({ kind: 'data', seq, payload }, () => this.gauge.remove(payload.length))
    }
    return hasRoom
  }
  drained(): Promise<void> {
    return this.gauge.drained()
  }
  pause(): void {
    this.delivery.pause()
    this.socket.pause()
  }
  resume(): void {
    this.delivery.resume()
    if (!this.delivery.paused) this.socket.resume()
  }
  close(message = 'closed here'): void {
    if (this.delivery.ended) return
    this.say({ kind: 'reset', reason: 'closed' }, () => this.socket.terminate())
    this.end({ code: 'local', message }, true)
  }

  private receive(data: Buffer, isBinary: boolean): void {
    try {
      if (!isBinary) throw new Error('a text message')
      const { streamId, body } = parseRelayFrame(data)
      if (streamId !== this.streamId) return
      if (body.kind === 'reset') throw new Error('the executor ended the stream')
      if (body.kind === 'handshake') throw new Error('a second handshake')
      if (body.kind === 'data') this.records.receive(body.seq, body.payload)
    } catch (error) {
      this.socket.terminate()
      this.end({ code: 'error', message: (error as Error).message, cause: error })
    }
  }

  private end(reason: CloseReason, discard = false): void {
    clearInterval(this.pinger)
    this.gauge.release()
    this.delivery.end(reason, discard)
  }
}
