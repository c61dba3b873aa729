import type { Actor, Decision, Verdict } from '../../sidecars/protocol/decision.ts'
import type { GateMode } from '../../sidecars/protocol/host-channel.ts'
import { decidingStep, type Judgement } from '../rules/rules.ts'

/** Said whenever something would be allowed that could not be put on record. */
export const FULL_JOURNAL =
  'The audit journal cannot be written and its memory is full, so nothing may be allowed until the disk takes it again.'

export interface GateContext {
  gate: GateMode
  subjectHash: string
  /** The owner typed the command: what no rule denies is the owner's decision. */
  isTyped: boolean
  canRecord: boolean
  nowMs: number
}

/**
 * The decision that a request gets without asking anybody, by a rule or by the mode of its gate;
 * undefined when the owner must be asked. A rule that denies holds in every mode.
 */
export function decideByGate(judgement: Judgement, context: GateContext): Decision | undefined {
  const { gate, canRecord, isTyped } = context
  const ruleId = decidingStep(judgement)?.ruleId
  const byRule = (verdict: Verdict, reason?: string) =>
    decision(context, verdict, { kind: 'rule' }, { ...(ruleId && { ruleId }), ...(reason !== undefined && { reason }) })
  const byPolicy = (verdict: Verdict, reason: string) => decision(context, verdict, { kind: 'policy' }, { reason })

  if (judgement.verdict === 'deny') return byRule('deny', `Denied by a rule: ${causeOf(judgement)}.`)
  if (judgement.verdict === 'ask') {
    if (gate === 'ask') return undefined
    if (gate === 'enforce')
      return byPolicy('deny', `No rule allows it (${causeOf(judgement)}), and this agent may only do what rules allow.`)
  }
  if (!canRecord) return byPolicy('deny', FULL_JOURNAL)
  if (judgement.verdict === 'allow') return byRule('allow')
  if (isTyped) return decision(context, 'allow', { kind: 'person', via: 'command-line' }, {})
  return byPolicy('allow', 'This agent is observed, not asked about.')
}

function decision(
  { subjectHash, nowMs }: GateContext,
  verdict: Verdict,
  actor: Actor,
  more: Partial<Decision>,
): Decision {
  return { verdict, scope: 'once', actor, subjectHash, decidedAtMs: nowMs, ...more }
}

function causeOf(judgement: Judgement): string {
  const step = decidingStep(judgement)
  return step ? `${step.about}: ${step.because}` : 'no rule matches'
}
