/** Answers that hold for longer than one question: which are offered, what they write, how that reads. */
import type { RulePreview } from '../../preload/api.ts'
import { answerFields } from '../../sidecars/protocol/answer-form.ts'
import type { Scope, Verdict } from '../../sidecars/protocol/decision.ts'
import { UNKNOWN_SESSION, type RuleId } from '../../sidecars/protocol/ids.ts'
import { subjectLine } from '../audit/subject-line.ts'
import { ruleWords, type Rule, type Rules } from '../rules/rules.ts'
import type { ApprovalRequest } from './request-book.ts'
import type { RequestHistory } from './request-history.ts'

/** A rule that an answer put in force. */
export interface MadeRule {
  ruleId: RuleId
  text: string
  source: string
}

export const judgedOf = ({ subject, subjectHash, origin }: ApprovalRequest) => ({
  subject,
  subjectHash,
  sessionId: origin.sessionId,
})

/** Once, and of the wider scopes an asker can honour those that a rule could express. */
export function offeredScopes(rules: Rules, request: ApprovalRequest): Scope[] {
  const wider = request.scopes.filter((scope) => {
    if (scope === 'once' || answerFields(request.subject) !== null) return false
    if (scope === 'session') return request.origin.sessionId !== UNKNOWN_SESSION
    return rules.propose(judgedOf(request), 'allow') !== undefined
  })
  return ['once', ...wider]
}

/** Puts in force what the answer means beyond this question. Undefined when no rule can say it. */
export function makeLasting(
  rules: Rules,
  request: ApprovalRequest,
  scope: Scope,
  verdict: Verdict,
): MadeRule[] | undefined {
  const judged = judgedOf(request)
  if (scope === 'once') return []
  if (scope === 'session' && request.subject.kind !== 'connection') {
    const { id, about } = rules.grantForSession(judged, verdict, subjectLine(request.subject))
    return [{ ruleId: id, text: about, source: 'session' }]
  }
  const proposed = rules.propose(judged, verdict)
  if (!proposed) return undefined
  if (scope === 'always')
    return rules
      .amend(proposed)
      .map(({ id, text, place }) => ({ ruleId: id, text, source: place?.file ?? 'default.rules' }))
  return proposed.map(({ text }) => ({
    ruleId: rules.addSessionHost(text, request.origin.sessionId).id,
    text,
    source: 'session',
  }))
}

/** How the rule of a wide answer reads, and the past requests it would have matched. */
export function previewLasting(
  { rules, history, rulesFolder }: { rules: Rules; history: RequestHistory; rulesFolder: string },
  request: ApprovalRequest,
  scope: Scope,
): RulePreview {
  if (scope === 'always')
    return previewRules(rules, history, rules.propose(judgedOf(request), 'allow') ?? [], `${rulesFolder}/default.rules`)
  const { subject, subjectHash, origin } = request
  const isOnce = scope === 'once'
  return {
    text: subjectLine(subject),
    words: isOnce ? 'Only this time' : sessionWords(request),
    storedIn: isOnce ? 'nowhere' : 'memory, until the session ends',
    matched: history.matched(
      (past) => !isOnce && past.sessionId === origin.sessionId && past.subjectHash === subjectHash,
    ),
  }
}

/** The preview of rules that are not bound to a request. */
export function previewRules(
  rules: Rules,
  history: RequestHistory,
  proposed: readonly Rule[],
  storedIn: string,
): RulePreview {
  return {
    text: proposed.map((rule) => rule.text).join('\n'),
    words: proposed.map(ruleWords).join('; '),
    storedIn,
    matched: history.matched((past) => proposed.some((rule) => rules.speaksOf(rule, past))),
  }
}

function sessionWords({ subject }: ApprovalRequest): string {
  if (subject.kind === 'connection') return `Allow ${subject.host} on port ${subject.port} for this session`
  return subject.kind === 'fileChange'
    ? 'Allow changes of these files for this session'
    : 'Allow exactly this again for this session'
}
