/**
 * What each approval policy does where no rule has decided: the table of the session contract as data.
 * A rule that denies holds under every policy and is not in it.
 */
import type { ApprovalPolicy } from '../protocol/app-server/thread.ts'

export type PolicySituation =
  /** No rule speaks of the command and nothing dangerous is known of it. */
  | 'ordinary'
  /** The model wants it outside the sandbox. */
  | 'escalation'
  /** A rule says "prompt". */
  | 'rulePrompt'
  | 'dangerous'
  /** It ran in the sandbox, which refused it something. */
  | 'sandboxDenial'
/** `run`: in the sandbox, unasked. `report`: the failure is told to the model and nobody is asked. */
export type PolicyAction = 'run' | 'ask' | 'refuse' | 'report'

const TABLE: Record<'untrusted' | 'on-request' | 'never', Record<PolicySituation, PolicyAction>> = {
  'on-request': { ordinary: 'run', escalation: 'ask', rulePrompt: 'ask', dangerous: 'ask', sandboxDenial: 'report' },
  untrusted: { ordinary: 'ask', escalation: 'ask', rulePrompt: 'ask', dangerous: 'ask', sandboxDenial: 'ask' },
  never: {
    ordinary: 'run',
    escalation: 'refuse',
    rulePrompt: 'refuse',
    dangerous: 'refuse',
    sandboxDenial: 'report',
  },
}

/** What the policy does in a situation. A granular one asks as "on-request" does, where its flags let it. */
export function policyAction(policy: ApprovalPolicy, situation: PolicySituation): PolicyAction {
  if (typeof policy === 'string') return TABLE[policy][situation]
  const action = TABLE['on-request'][situation]
  if (action !== 'ask') return action
  const { sandbox_approval: mayEscalate, rules } = policy.granular
  return (situation === 'escalation' ? mayEscalate : rules) ? 'ask' : 'refuse'
}
