/** A spoken or typed conversation with a realtime model, beside a thread's turns. */
import { WebSocket } from 'ws'
import {
  audioChunk,
  callOutput,
  HAND_OVER_TOOL,
  readEvent,
  sessionOf,
  textItem,
  type AudioChunk,
  type RealtimeEvent,
  type SessionWishes,
} from './realtime-wire.ts'

/** Audio that the server does not take is not collected without bound. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024
const MAX_EVENT_BYTES = 64 * 1024 * 1024
/** A server that does not answer a close is left. */
const CLOSE_GRACE_MS = 2000

/** Why a conversation ended. */
export type EndReason = 'requested' | 'replaced' | 'error' | 'transport_closed'

export interface RealtimeEvents {
  started(sessionId: string | null): void
  /** An item of the conversation, as the server has it. */
  item(item: unknown): void
  transcriptDelta(role: 'user' | 'assistant', delta: string): void
  transcriptDone(role: 'user' | 'assistant', text: string): void
  audio(chunk: AudioChunk): void
  error(message: string): void
  /** The last one; called exactly once. */
  closed(reason: EndReason): void
  /** Does what was handed over and gives the outcome in words. */
  handOver(text: string): Promise<string>
}

export interface RealtimeTarget {
  url: string
  headers: Record<string, string>
  connectTimeoutMs: number
}

/** There is no conversation, or it cannot take this; the words are for the client. */
export class RealtimeRefused extends Error {
  override readonly name = 'RealtimeRefused'
}

export class RealtimeConversation {
  private readonly socket: WebSocket
  private isStarted = false
  private end: EndReason | null = null
  private failed = false

  /** Connects at once; how that goes is told through `events`. */
  constructor(
    target: RealtimeTarget,
    private readonly wishes: SessionWishes,
    private readonly events: RealtimeEvents,
  ) {
    this.socket = new WebSocket(target.url, {
      headers: target.headers,
      handshakeTimeout: target.connectTimeoutMs,
      maxPayload: MAX_EVENT_BYTES,
      perMessageDeflate: false,
    })
    this.socket.on('open', () => this.send({ type: 'session.update', session: sessionOf(wishes) }))
    this.socket.on('message', (data, isBinary) => {
      const event = isBinary ? null : readEvent(String(data))
      if (event) this.take(event)
    })
    this.socket.on('error', ({ message }) => {
      const status = /^Unexpected server response: (\d+)/.exec(message)?.[1]
      this.fail(
        status === undefined
          ? `the realtime server cannot be reached: ${message}`
          : `the realtime server answered HTTP ${status}`,
      )
    })
    this.socket.on('close', (code, reason) => this.finish(code, String(reason)))
  }

  get isOpen(): boolean {
    return this.end === null && this.socket.readyState === WebSocket.OPEN
  }

  /** @throws RealtimeRefused when it is not open or the server does not keep up */
  appendAudio({ data }: Pick<AudioChunk, 'data'>): void {
    this.need()
    if (this.socket.bufferedAmount > MAX_BUFFERED_BYTES)
      throw new RealtimeRefused('the realtime server does not take audio as fast as it comes; send it again later')
    this.send({ type: 'input_audio_buffer.append', audio: data })
  }

  /** Words of the person are answered; others are only noted. @throws RealtimeRefused */
  appendText(role: 'user' | 'developer' | 'assistant', text: string): void {
    this.need()
    this.send(textItem(role, text))
    if (role === 'user') this.send({ type: 'response.create' })
  }

  /** Has words spoken. @throws RealtimeRefused */
  appendSpeech(text: string): void {
    this.need()
    if (this.wishes.outputModality !== 'audio')
      throw new RealtimeRefused('this realtime conversation has no audio output; start it with outputModality "audio"')
    const instructions = `Say this to the person, word for word and nothing else:\n${text}`
    this.send({ type: 'response.create', response: { output_modalities: ['audio'], instructions } })
  }

  /** Ends it; `closed` follows. */
  close(reason: EndReason): void {
    if (this.end !== null) return
    this.end = reason
    if (this.socket.readyState === WebSocket.CONNECTING) return this.socket.terminate()
    this.socket.close(1000)
    const cut = setTimeout(() => this.socket.terminate(), CLOSE_GRACE_MS)
    this.socket.once('close', () => clearTimeout(cut))
  }

  private need(): void {
    if (!this.isOpen) throw new RealtimeRefused('the realtime conversation is not connected')
  }

  private send(event: object): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(event))
  }

  private fail(message: string): void {
    if (this.failed || this.end !== null) return
    this.failed = true
    this.events.error(message)
  }

  private finish(code: number, reason: string): void {
    if (this.end === null && !this.failed && code !== 1000)
      this.events.error(`the realtime server closed the connection (${code}${reason === '' ? '' : `: ${reason}`})`)
    this.end ??= this.failed ? 'error' : 'transport_closed'
    this.events.closed(this.end)
  }

  private take(event: RealtimeEvent): void {
    const { events } = this
    const text = (name: string): string => (typeof event[name] === 'string' ? event[name] : '')
    switch (event.type) {
      case 'session.created':
      case 'session.updated': {
        if (this.isStarted) return
        this.isStarted = true
        const id = (event.session as { id?: unknown } | undefined)?.id
        return events.started(typeof id === 'string' ? id : null)
      }
      case 'response.output_audio.delta':
      case 'response.audio.delta':
        return events.audio(audioChunk(event))
      case 'response.output_audio_transcript.delta':
      case 'response.audio_transcript.delta':
      case 'response.output_text.delta':
      case 'response.text.delta':
        return events.transcriptDelta('assistant', text('delta'))
      case 'response.output_audio_transcript.done':
      case 'response.audio_transcript.done':
        return events.transcriptDone('assistant', text('transcript'))
      case 'response.output_text.done':
      case 'response.text.done':
        return events.transcriptDone('assistant', text('text'))
      case 'conversation.item.input_audio_transcription.delta':
        return events.transcriptDelta('user', text('delta'))
      case 'conversation.item.input_audio_transcription.completed':
        return events.transcriptDone('user', text('transcript'))
      case 'conversation.item.added':
      case 'conversation.item.created':
        return events.item(event.item)
      case 'response.output_item.done':
        return void this.handOver(event.item as Record<string, unknown> | undefined)
      case 'error':
        return events.error(String((event.error as { message?: unknown } | undefined)?.message ?? 'unknown error'))
    }
  }

  /** The realtime model gives work away; it hears of the outcome and goes on talking. */
  private async handOver(item: Record<string, unknown> | undefined): Promise<void> {
    if (item?.type !== 'function_call' || item.name !== HAND_OVER_TOOL) return
    const outcome = await this.events.handOver(handedText(String(item.arguments ?? '')))
    if (!this.isOpen) return
    this.send(callOutput(String(item.call_id ?? ''), outcome))
    this.send({ type: 'response.create' })
  }
}

/** What cannot be read is handed over as it is: a person said it. */
function handedText(args: string): string {
  try {
    const { text } = JSON.parse(args) as { text?: unknown }
    return typeof text === 'string' ? text : args
  } catch {
    return args
  }
}
