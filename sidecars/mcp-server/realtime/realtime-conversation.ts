/** A spoken or typed conversation with a realtime model, beside a thread's turns. */
import { WebSocket } from 'ws'
import {
  readEvent,
  type AudioChunk,
  type Dialect,
  type RealtimeNews,
  type Role,
  type SessionWishes,
} from './dialect.ts'

/** Audio that the server does not take is not collected without bound. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024
const MAX_EVENT_BYTES = 64 * 1024 * 1024
/** A server that does not answer a close is left. */
const CLOSE_GRACE_MS = 2000
/** Changes of speaker that are kept for the next task. */
const MAX_TRANSCRIPT = 200

/** Why a conversation ended. */
export type EndReason = 'requested' | 'replaced' | 'error' | 'transport_closed'

export interface RealtimeEvents {
  started(): void
  /** An item of the conversation, as the server has it. */
  item(item: unknown): void
  transcriptDelta(role: 'user' | 'assistant', delta: string): void
  transcriptDone(role: 'user' | 'assistant', text: string): void
  audio(chunk: AudioChunk): void
  error(message: string): void
  /** The last one; called exactly once. */
  closed(reason: EndReason): void
  /**
   * The model gives a task away, with what was said since the last one. Does it and gives the outcome in
   * words; null leaves that to the client.
   */
  handOver(task: HandedTask): Promise<string> | null
}

export interface HandedTask {
  id: string
  itemId: string
  text: string
  transcript: { role: 'user' | 'assistant'; text: string }[]
}

export interface RealtimeTarget {
  url: string
  headers: Record<string, string>
  connectTimeoutMs: number
  /** It joins a call that was set up before. */
  isCall: boolean
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
  /** What was said since the last task. */
  private transcript: HandedTask['transcript'] = []

  /** Connects at once; how that goes is told through `events`. */
  constructor(
    target: RealtimeTarget,
    private readonly dialect: Dialect,
    private readonly wishes: SessionWishes,
    private readonly events: RealtimeEvents,
  ) {
    this.socket = new WebSocket(target.url, {
      headers: target.headers,
      handshakeTimeout: target.connectTimeoutMs,
      maxPayload: MAX_EVENT_BYTES,
      perMessageDeflate: false,
    })
    this.socket.on('open', () => {
      this.send(...dialect.opening(wishes, target.isCall))
      // Nothing was asked that could be answered: a call that is joined goes on at once.
      if (dialect.opening(wishes, target.isCall).length === 0) this.take({ kind: 'started' })
    })
    this.socket.on('message', (data, isBinary) => {
      const event = isBinary ? null : readEvent(String(data))
      const news = event && dialect.read(event)
      if (news) this.take(news)
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
    this.send(this.dialect.audio(data))
  }

  /** @throws RealtimeRefused */
  appendText(role: Role, text: string): void {
    this.need()
    this.send(...this.dialect.text(role, text))
  }

  /** Has words spoken. @throws RealtimeRefused */
  appendSpeech(text: string): void {
    this.need()
    if (this.wishes.outputModality !== 'audio')
      throw new RealtimeRefused('this realtime conversation has no audio output; start it with outputModality "audio"')
    this.send(...this.dialect.speech(text))
  }

  /** Ends it; `closed` follows. */
  close(reason: EndReason): void {
    if (this.end !== null) return
    this.end = reason
    if (this.socket.readyState === WebSocket.CONNECTING) return this.socket.terminate()
    this.send(...this.dialect.closing)
    this.socket.close(1000)
    const cut = setTimeout(() => this.socket.terminate(), CLOSE_GRACE_MS)
    this.socket.once('close', () => clearTimeout(cut))
  }

  private need(): void {
    if (!this.isOpen) throw new RealtimeRefused('the realtime conversation is not connected')
  }

  private send(...events: object[]): void {
    if (this.socket.readyState === WebSocket.OPEN) for (const event of events) this.socket.send(JSON.stringify(event))
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

  private take(news: RealtimeNews): void {
    const { events } = this
    switch (news.kind) {
      case 'started':
        if (this.isStarted) return
        this.isStarted = true
        return events.started()
      case 'audio':
        return events.audio(news.chunk)
      case 'delta':
        this.note(news.role, news.text)
        return events.transcriptDelta(news.role, news.text)
      case 'done':
        return events.transcriptDone(news.role, news.text)
      case 'item':
        return events.item(news.item)
      case 'handOver':
        return void this.handOver(news)
      case 'error':
        return events.error(news.message)
    }
  }

  private note(role: 'user' | 'assistant', text: string): void {
    const last = this.transcript.at(-1)
    if (last?.role === role) last.text += text
    else this.transcript.push({ role, text })
    if (this.transcript.length > MAX_TRANSCRIPT) this.transcript.shift()
  }

  /** The realtime model gives work away; it hears of the outcome and goes on talking. */
  private async handOver({ id, itemId, text }: Extract<RealtimeNews, { kind: 'handOver' }>): Promise<void> {
    const { transcript } = this
    this.transcript = []
    const outcome = await this.events.handOver({
      id,
      itemId,
      text,
      transcript: [...transcript, { role: 'user', text }],
    })
    if (outcome !== null && this.isOpen) this.send(...this.dialect.outcome(id, outcome))
  }
}
