import type { Decision } from '../protocol/decision.ts'
import type { SessionFacts } from '../protocol/host-channel.ts'
import type { SessionId } from '../protocol/ids.ts'
import type { HostLink, ToolUseQuestion } from '../mcp-server/sessions/host-link.ts'

/** A host that remembers what it was told and decides as the test says. */
export class RecordingHost implements HostLink {
  readonly isPresent = true
  readonly sessions: SessionFacts[] = []
  readonly ended: { id: SessionId; reason: string }[] = []
  readonly questions: ToolUseQuestion[] = []
  answer: (question: ToolUseQuestion, signal: AbortSignal) => Promise<Decision> = () =>
    Promise.reject(new Error('nobody answers'))

  opened(session: SessionFacts): void {
    this.sessions.push(session)
  }
  closed(id: SessionId, reason: string): void {
    this.ended.push({ id, reason })
  }
  decide(question: ToolUseQuestion, signal: AbortSignal): Promise<Decision> {
    this.questions.push(question)
    return this.answer(question, signal)
  }
}

export const decided = (verdict: Decision['verdict'], reason?: string): Decision => ({
  verdict,
  scope: 'once',
  actor: { kind: 'person', via: 'window' },
  reason,
  subjectHash: '',
  decidedAtMs: 0,
})
