/** The realtime conversation of one thread: at most one, told to the clients, fed by the thread's own turns. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { AudioChunk, Dialect, Role, SessionWishes } from '../realtime/dialect.ts'
import {
  RealtimeConversation,
  RealtimeRefused,
  type EndReason,
  type RealtimeTarget,
} from '../realtime/realtime-conversation.ts'
import { RealtimeTimeline } from './realtime-timeline.ts'

export interface RealtimeStart {
  dialect: Dialect
  /** The conversation's name for clients and server. */
  sessionId: string
  wishes: SessionWishes
  /** Where to connect; may set up a call first and give its SDP. Rejects with words for people. */
  target(): Promise<{ target: RealtimeTarget; sdp: string | null }>
  /** Told to the thread's own model when the conversation starts and ends. */
  startInstructions: string | null
  endInstructions: string | null
}

export interface RealtimeThread {
  id: string
  nowMs: () => number
  emit: Emit
  /** Runs words as a turn, or steers the running one; gives the last message. */
  handOver(text: string): Promise<string>
  /** Adds a developer message to the history. */
  note(text: string): void
}

/** Owned by the session. */
export class ThreadRealtime {
  private current: RealtimeConversation | null = null
  /** Grows with every start and stop: what was begun before then is over. */
  private epoch = 0

  constructor(private readonly thread: RealtimeThread) {}

  /** Answers at once; how it goes comes as notifications. A conversation that runs is replaced. */
  start(start: RealtimeStart): void {
    this.stop('replaced')
    const epoch = ++this.epoch
    void this.connect(start, epoch)
  }

  /** @throws RealtimeRefused */
  appendAudio(audio: AudioChunk): void {
    this.need().appendAudio(audio)
  }

  /** @throws RealtimeRefused */
  appendText(role: Role, text: string): void {
    this.need().appendText(role, text)
  }

  /** @throws RealtimeRefused */
  appendSpeech(text: string): void {
    this.need().appendSpeech(text)
  }

  /** Ends it, if there is one. */
  stop(reason: EndReason): void {
    this.epoch++
    this.current?.close(reason)
    this.current = null
  }

  private need(): RealtimeConversation {
    if (!this.current) throw new RealtimeRefused('there is no realtime conversation; start one first')
    return this.current
  }

  private async connect(start: RealtimeStart, epoch: number): Promise<void> {
    const { id: threadId, emit } = this.thread
    try {
      const { target, sdp } = await start.target()
      if (epoch !== this.epoch) return emit('thread/realtime/closed', { threadId, reason: 'requested' })
      if (sdp !== null) emit('thread/realtime/sdp', { threadId, sdp })
      this.current = this.converse(start, target)
    } catch (error) {
      emit('thread/realtime/error', { threadId, message: (error as Error).message })
      emit('thread/realtime/closed', { threadId, reason: 'error' })
    }
  }

  private converse(start: RealtimeStart, target: RealtimeTarget): RealtimeConversation {
    const { id: threadId, emit, handOver, note } = this.thread
    const { dialect, wishes, sessionId } = start
    const timeline = new RealtimeTimeline(this.thread, sessionId)
    const conversation: RealtimeConversation = new RealtimeConversation(target, dialect, wishes, {
      started: () => {
        if (start.startInstructions !== null) note(start.startInstructions)
        timeline.started()
        emit('thread/realtime/started', { threadId, realtimeSessionId: sessionId, version: dialect.version })
      },
      item: (item) => emit('thread/realtime/itemAdded', { threadId, item }),
      transcriptDelta: (role, delta) => {
        timeline.delta(role, delta)
        emit('thread/realtime/transcript/delta', { threadId, role, delta })
      },
      transcriptDone: (role, text) => {
        timeline.done(role, text)
        emit('thread/realtime/transcript/done', { threadId, role, text })
      },
      audio: (audio) => emit('thread/realtime/outputAudio/delta', { threadId, audio }),
      error: (message) => emit('thread/realtime/error', { threadId, message }),
      closed: (reason) => {
        if (this.current === conversation) this.current = null
        if (start.endInstructions !== null) note(start.endInstructions)
        timeline.closed(reason === 'error' ? 'failed' : 'ended')
        emit('thread/realtime/closed', { threadId, reason })
      },
      handOver: ({ id, itemId, text, transcript }) => {
        const item = {
          type: 'handoff_request',
          handoff_id: id,
          item_id: itemId,
          input_transcript: text,
          active_transcript: transcript,
        }
        emit('thread/realtime/itemAdded', { threadId, item })
        if (!wishes.canHandOver) return null
        return handOver(text).catch((error: Error) => `The task could not be done: ${error.message}`)
      },
    })
    return conversation
  }
}
