import { createHash } from 'node:crypto'
import {
  approvalsRequest,
  sessionClosed,
  sessionFacts,
  type ApprovalsAnswer,
  type ApprovalsRequest,
  type SessionFacts,
} from '../protocol/host-channel.ts'
import type { RequestId } from '../protocol/ids.ts'
import { canonicalSubject } from '../protocol/subject.ts'
import { unknown } from '../protocol/decode.ts'
import type { RpcPeer } from '../rpc/peer.ts'

export interface Question extends ApprovalsRequest {
  allow(): void
  deny(words: string): void
  readonly isWithdrawn: boolean
}

/** The part of a host that sidecars talk to, with a test in the owner's chair. */
export class DecidingHost {
  readonly questions: Question[] = []
  readonly sessions: SessionFacts[] = []
  readonly closed: string[] = []
  /** Set to decide without being asked. */
  policy: ((question: Question) => void) | null = null
  /** What a command that is allowed gets. */
  environment: Record<string, string> = { HTTP_PROXY: 'http://lease@127.0.0.1:1' }

  /** Answers one sidecar. */
  readonly register = (peer: RpcPeer): void => {
    peer.onRequest('approvals/request', approvalsRequest, (request, { signal }) => this.ask(request, signal))
    peer.onNotification('sessions/opened', sessionFacts, (session) => void this.sessions.push(session))
    peer.onNotification('sessions/closed', sessionClosed, ({ id }) => void this.closed.push(id))
    for (const method of ['sessions/updated', 'processes/changed', 'processes/forgotten'])
      peer.onNotification(method, unknown, () => {})
  }

  private ask(request: ApprovalsRequest, signal: AbortSignal): Promise<ApprovalsAnswer> {
    return new Promise((resolve) => {
      const decide = (verdict: 'allow' | 'deny', reason?: string) =>
        resolve({
          requestId: `req_${this.questions.length}` as RequestId,
          decision: {
            verdict,
            scope: 'once',
            actor: { kind: 'person', via: 'window' },
            reason,
            subjectHash: createHash('sha256').update(canonicalSubject(request.subject)).digest('hex'),
            decidedAtMs: Date.now(),
          },
          environment: this.environment,
        })
      const question: Question = {
        ...request,
        allow: () => decide('allow'),
        deny: (words) => decide('deny', words),
        get isWithdrawn() {
          return signal.aborted
        },
      }
      this.questions.push(question)
      this.policy?.(question)
    })
  }
}
