import type { Carrier } from '../wire/carrier.ts'
import { Responder } from './noise-handshake.ts'
import type { HybridKeys } from './noise-keys.ts'
import { RegistryError, type Registry } from './registry.ts'
import { RelayCarrier, type SendFrame } from './relay-carrier.ts'
import { formatRelayFrame, type RelayFrame } from './relay-frame.ts'

const MAX_ACTIVE = 128
const MAX_PENDING = 32
const MAX_AUTHORIZATION_BYTES = 4096
const VALIDATION_TIMEOUT_MS = 10_000
/** Failed handshakes on one socket, and how long none is listened to when they are used up. */
const MAX_FAILURES = 8
const COOL_DOWN_MS = 10_000
const RESET_REASON = 'noise_relay_protocol_error'
/** Told to who connects when the registry does not accept this executor any more. */
const AUTHENTICATION_REJECTED = 'codex-registry-authentication-rejected/v1'

export interface NoiseStreamsOptions {
  registry: Pick<Registry, 'validate'>
  keys: HybridKeys
  environmentId: string
  registrationId: string
  send: SendFrame
  onStream(carrier: Carrier, streamId: string): void
  nowMs?: () => number
}

type Stream = { state: 'pending'; validation: AbortController } | { state: 'active'; carrier: RelayCarrier }

/** The streams on one rendezvous socket: each begins with a handshake that the registry has to vouch for. */
export class NoiseStreams {
  private readonly streams = new Map<string, Stream>()
  private pendingCount = 0
  private failures = 0
  private coolUntilMs = 0
  private readonly nowMs: () => number

  constructor(private readonly options: NoiseStreamsOptions) {
    this.nowMs = options.nowMs ?? Date.now
  }

  receive({ streamId, body }: RelayFrame): void {
    const stream = this.streams.get(streamId)
    switch (body.kind) {
      case 'handshake':
        if (stream) return this.breakOff(streamId, stream, 'a second handshake')
        return void this.shakeHands(streamId, body.payload)
      case 'data':
        if (stream?.state === 'active') return stream.carrier.receive(body.seq, body.payload)
        if (stream) return this.breakOff(streamId, stream, 'data before the end of the handshake')
        return this.reset(streamId)
      case 'reset':
        this.streams.delete(streamId)
        if (stream?.state === 'active') stream.carrier.close('the other side has reset the stream')
        else stream?.validation.abort()
        return
      default:
    }
  }

  /** The socket is gone, and every stream with it. */
  close(reason: string): void {
    for (const [streamId, stream] of this.streams)
      if (stream.state === 'pending') this.cancel(streamId, stream)
      else {
        this.streams.delete(streamId)
        stream.carrier.close(reason)
      }
  }

  private breakOff(streamId: string, stream: Stream, why: string): void {
    if (stream.state === 'active') return stream.carrier.close(`it broke the protocol: ${why}`)
    this.cancel(streamId, stream)
    this.reset(streamId)
  }

  private cancel(streamId: string, { validation }: Stream & { state: 'pending' }): void {
    this.streams.delete(streamId)
    validation.abort()
  }

  private async shakeHands(streamId: string, message: Buffer): Promise<void> {
    const isFull = this.streams.size - this.pendingCount >= MAX_ACTIVE || this.pendingCount >= MAX_PENDING
    if (isFull || this.isCoolingDown()) return this.reset(streamId)
    const { keys, environmentId, registrationId } = this.options
    const responder = new Responder(keys, { environmentId, registrationId, streamId })
    const pending = { state: 'pending' as const, validation: new AbortController() }
    let answer: 'yes' | 'no' | 'unauthenticated'
    try {
      const harness = responder.read(message)
      const authorization = authorizationOf(harness.payload)
      this.streams.set(streamId, pending)
      this.pendingCount++
      try {
        answer = await this.judge({ registrationId, keys: harness.keys, authorization, streamId }, pending.validation)
      } finally {
        this.pendingCount--
      }
    } catch {
      answer = 'no'
    }
    if (pending.validation.signal.aborted) return
    this.streams.delete(streamId)
    if (answer === 'no') return this.failed(streamId)
    if (answer === 'unauthenticated')
      return this.reply(streamId, responder.answer(Buffer.from(AUTHENTICATION_REJECTED)).message)
    const { message: reply, channel } = responder.answer()
    this.reply(streamId, reply)
    const carrier: RelayCarrier = new RelayCarrier(`stream ${streamId}`, streamId, channel, this.options.send, () => {
      const current = this.streams.get(streamId)
      if (current?.state !== 'active' || current.carrier !== carrier) return
      this.streams.delete(streamId)
      this.reset(streamId)
    })
    this.streams.set(streamId, { state: 'active', carrier })
    this.options.onStream(carrier, streamId)
  }

  private async judge(harness: Parameters<Registry['validate']>[0], validation: AbortController) {
    const stop = new AbortController()
    const onAbort = () => stop.abort()
    const timer = setTimeout(onAbort, VALIDATION_TIMEOUT_MS)
    validation.signal.addEventListener('abort', onAbort, { once: true })
    try {
      return (await this.options.registry.validate(harness, stop.signal)) ? ('yes' as const) : ('no' as const)
    } catch (error) {
      return error instanceof RegistryError && error.status === 401 ? ('unauthenticated' as const) : ('no' as const)
    } finally {
      clearTimeout(timer)
      validation.signal.removeEventListener('abort', onAbort)
    }
  }

  private isCoolingDown(): boolean {
    if (this.failures < MAX_FAILURES) return false
    if (this.nowMs() < this.coolUntilMs) return true
    this.failures = 0
    return false
  }

  private failed(streamId: string): void {
    if (++this.failures >= MAX_FAILURES) this.coolUntilMs = this.nowMs() + COOL_DOWN_MS
    this.reset(streamId)
  }

  private reply(streamId: string, payload: Buffer): void {
    this.options.send(formatRelayFrame({ streamId, body: { kind: 'handshake', payload } }), () => {})
  }
  private reset(streamId: string): void {
    this.options.send(formatRelayFrame({ streamId, body: { kind: 'reset', reason: RESET_REASON } }), () => {})
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function authorizationOf(payload: Buffer): string {
  if (payload.length === 0 || payload.length > MAX_AUTHORIZATION_BYTES)
    throw new Error(`an authorization of ${payload.length} bytes`)
  return utf8.decode(payload)
}
