/** What the journal gets about requests. */
import type { Audit } from '../audit/audit.ts'
import { maskSubject } from '../audit/masked-subject.ts'
import { stepText, type Judgement } from '../rules/rules.ts'
import type { ApprovalRequest, Ending } from './request-book.ts'

type Recorder = Pick<Audit, 'record'>

export function recordAsked(
  audit: Recorder,
  { id, origin, gate, subject, subjectHash, askedBy }: ApprovalRequest,
): void {
  const { sessionId, processId, toolCallId } = origin
  audit.record({
    kind: 'request.asked',
    requestId: id,
    sessionId,
    ...(processId === undefined ? {} : { processId }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    gate,
    subject: maskSubject(subject),
    subjectHash,
    ...(askedBy && { ruleId: askedBy }),
  })
}

/** `judgement`: the chain when rules decided. */
export function recordEnding(audit: Recorder, request: ApprovalRequest, ending: Ending, judgement?: Judgement): void {
  const named = { requestId: request.id, sessionId: request.origin.sessionId }
  if (ending.state === 'withdrawn') audit.record({ kind: 'request.withdrawn', ...named, reason: ending.because })
  else if (ending.state === 'expired') audit.record({ kind: 'request.expired', ...named, decision: ending.decision })
  else {
    const chain = judgement?.chain.map(stepText)
    audit.record({ kind: 'request.decided', ...named, decision: ending.decision, ...(chain && { chain }) })
  }
}
