/** An owner who is asked and answers when the test says so. */
import type { ApprovalsAnswer } from '../../protocol/host-channel.ts'
import type { RequestId } from '../../protocol/ids.ts'
import { RpcError } from '../../rpc/rpc-error.ts'
import { subjectHash, type AskHost } from '../policy/decider.ts'

export interface Question {
  subject: Parameters<typeof subjectHash>[0]
  sessionId: string
  withdrawn: boolean
  answer(verdict: 'allow' | 'deny', more?: Partial<ApprovalsAnswer['decision']>): void
  fail(error: Error): void
}

export class Owner {
  readonly questions: Question[] = []
  private readonly waiters: { count: number; resolve: () => void }[] = []

  readonly ask: AskHost = ({ subject, sessionId }, signal) =>
    new Promise((resolve, reject) => {
      const question: Question = {
        subject,
        sessionId,
        withdrawn: false,
        answer: (verdict, more = {}) =>
          resolve({
            requestId: `req_${this.questions.length}` as RequestId,
            environment: {},
            decision: {
              verdict,
              scope: 'once',
              actor: { kind: 'person', via: 'window' },
              subjectHash: subjectHash(subject),
              decidedAtMs: 0,
              ...more,
            },
          }),
        fail: reject,
      }
      signal.addEventListener('abort', () => {
        question.withdrawn = true
        reject(new RpcError('cancelled', 'withdrawn'))
      })
      this.questions.push(question)
      for (const waiter of this.waiters) if (waiter.count <= this.questions.length) waiter.resolve()
    })

  /** Resolves with the n-th question ever asked (from 1). */
  async question(n = 1): Promise<Question> {
    if (this.questions.length < n) await new Promise<void>((resolve) => this.waiters.push({ count: n, resolve }))
    return this.questions[n - 1]!
  }
}

/** Resolves once `look` is true; looks again whenever the event loop comes round. */
export async function eventually(look: () => boolean): Promise<void> {
  while (!look()) await new Promise((resolve) => setTimeout(resolve, 5))
}
