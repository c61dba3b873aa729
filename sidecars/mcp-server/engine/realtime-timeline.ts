/** A realtime conversation as items on the thread's timeline: its start, who said what, its end. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import { uuid7 } from './uuid7.ts'

type Speaker = 'user' | 'assistant'

/** One per conversation. */
export class RealtimeTimeline {
  private isStarted = false
  private readonly open = new Map<Speaker, { id: string; atMs: number; text: string }>()

  constructor(
    private readonly thread: { id: string; emit: Emit; nowMs: () => number },
    private readonly sessionId: string,
  ) {}

  started(): void {
    this.isStarted = true
    this.atOnce({ id: `realtime-session-start:${this.sessionId}`, type: 'realtimeSessionStarted' })
  }

  /** More words of somebody. */
  delta(role: Speaker, delta: string): void {
    const segment = this.segment(role)
    segment.text += delta
    this.thread.emit('thread/realtime/item/transcript/delta', { threadId: this.thread.id, itemId: segment.id, delta })
  }

  /** All that somebody said, as it is now understood. */
  done(role: Speaker, text: string): void {
    this.segment(role).text = text
    this.complete(role)
  }

  closed(outcome: 'ended' | 'failed'): void {
    for (const role of this.open.keys()) this.complete(role)
    if (this.isStarted) this.atOnce({ id: uuid7(), type: 'realtimeSessionClosed', outcome })
  }

  private segment(role: Speaker): { id: string; atMs: number; text: string } {
    let segment = this.open.get(role)
    if (!segment) {
      segment = { id: uuid7(), atMs: this.thread.nowMs(), text: '' }
      this.open.set(role, segment)
      this.tell('started', { id: segment.id, type: 'transcriptSegment', role, text: '' }, segment.atMs)
    }
    return segment
  }

  private complete(role: Speaker): void {
    const { id, atMs, text } = this.open.get(role)!
    this.open.delete(role)
    this.tell('completed', { id, type: 'transcriptSegment', role, text }, atMs)
  }

  private atOnce(item: { id: string; type: string; [member: string]: unknown }): void {
    const atMs = this.thread.nowMs()
    this.tell('started', item, atMs)
    this.tell('completed', item, atMs)
  }

  private tell(what: 'started' | 'completed', item: object, observedAtMs: number): void {
    const whole = { ...item, realtimeSessionId: this.sessionId, observedAtMs }
    this.thread.emit(`thread/realtime/item/${what}`, { threadId: this.thread.id, item: whole })
  }
}
