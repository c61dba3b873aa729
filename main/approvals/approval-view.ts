import type { ApprovalView, WhyView } from '../../preload/api.ts'
import { UNKNOWN_SESSION, type SessionId } from '../../sidecars/protocol/ids.ts'
import { decidingStep, type Judgement } from '../rules/rules.ts'
import type { ApprovalRequest, Ending } from './request-book.ts'

export interface ShownSession {
  agentName: string
  title: string
}

/** What a card, or the row of an ended request, shows. */
export function approvalView(
  request: ApprovalRequest,
  session: ShownSession | undefined,
  state: { ending: Ending } | { waiting: number; expiresAtMs: number | null },
): ApprovalView {
  const { id, origin, subject, subjectHash, scopes, why, askedAtMs } = request
  const ending = 'ending' in state ? state.ending : undefined
  return {
    id,
    sessionId: origin.sessionId,
    processId: origin.processId ?? null,
    agentName: session?.agentName ?? strangerName(origin.sessionId),
    sessionTitle: session?.title ?? origin.sessionId,
    subject,
    subjectHash,
    scopes: [...scopes],
    why,
    reason: request.reason ?? null,
    refused: request.refused ?? null,
    state: ending?.state ?? 'pending',
    decision: ending && ending.state !== 'withdrawn' ? ending.decision : null,
    endedBecause: ending === undefined || ending.state === 'decided' ? null : endedBecause(ending),
    askedAtMs,
    expiresAtMs: 'waiting' in state ? state.expiresAtMs : null,
    waiting: 'waiting' in state ? state.waiting : 0,
  }
}

/** Whose name we do not know: its session was never announced, or is long over. */
function strangerName(sessionId: SessionId): string {
  return sessionId === UNKNOWN_SESSION ? 'A program that Gatehouse did not start' : 'An agent that is gone'
}

function endedBecause(ending: Exclude<Ending, { state: 'decided' }>): string {
  return ending.state === 'withdrawn' ? ending.because : (ending.decision.reason ?? 'nobody answered in time')
}

/** Why a request was not decided by a rule. */
export function whyView(judgement: Judgement): WhyView {
  const step = decidingStep(judgement)
  if (!step) return { summary: 'no rule matches', nearly: null }
  const summary = judgement.chain.length > 1 ? `${step.about}: ${step.because}` : step.because
  return { summary, nearly: step.nearly ?? judgement.chain.find((other) => other.nearly)?.nearly ?? null }
}
