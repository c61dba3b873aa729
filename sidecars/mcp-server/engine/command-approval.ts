/** Whether a command may run, in which sandbox, and whom to ask. */
import type { CommandDecision, ServerRequestMap } from '../../protocol/app-server/server-requests.ts'
import type { ApprovalPolicy } from '../../protocol/app-server/thread.ts'
import { policyAction, type PolicySituation } from '../../rules/approval-policy.ts'
import type { CommandRules, CommandVerdict } from './services.ts'

export interface CommandRequest {
  argv: string[]
  cwd: string
  tty: boolean
  /** The model wants it outside the sandbox. */
  escalated: boolean
  justification: string | null
  /** A prefix the model proposes for a rule. */
  proposedPrefix: string[] | null
}

export type CommandPlan =
  /** `outsideSandbox`: every program is allowed by a rule, or a person allowed the escalation. */
  | { do: 'run'; outsideSandbox: boolean }
  | { do: 'refuse'; text: string }
  | { do: 'ask'; reason: string | null; amendment: string[] | null; choices: CommandDecision[] }

/**
 * The decision before anybody is asked (the order of the steps is the contract): rules, then what is
 * known to be dangerous, then the policy.
 */
export async function planCommand(
  request: CommandRequest,
  policy: ApprovalPolicy,
  rules: CommandRules,
  sandboxed: boolean,
): Promise<CommandPlan> {
  const judged = await rules.judge(request.argv, request.cwd)
  if (judged.verdict === 'deny')
    return { do: 'refuse', text: `\`${shown(request.argv)}\` rejected: ${judged.reason ?? 'a rule forbids it'}` }
  if (judged.verdict === 'allow') return { do: 'run', outsideSandbox: true }
  const situation = situationOf(request, judged, sandboxed)
  const action = policyAction(policy, situation)
  if (action === 'run') return { do: 'run', outsideSandbox: request.escalated && !sandboxed }
  if (action !== 'ask') return { do: 'refuse', text: refusal(request, policy, judged, situation) }
  const amendment = judged.verdict === 'ask' ? null : await amendmentFor(request, judged, rules)
  const choices: CommandDecision[] = ['accept']
  if (amendment) choices.push({ acceptWithExecpolicyAmendment: { execpolicy_amendment: amendment } })
  choices.push('cancel')
  return { do: 'ask', reason: request.justification ?? judged.reason, amendment, choices }
}

/** The question after the sandbox refused a command: the same again, without it. */
export function retryPlan(): Extract<CommandPlan, { do: 'ask' }> {
  return {
    do: 'ask',
    reason: 'The sandbox refused it. Run it again without the sandbox?',
    amendment: null,
    choices: ['accept', 'acceptForSession', 'cancel'],
  }
}

function situationOf(request: CommandRequest, judged: CommandVerdict, sandboxed: boolean): PolicySituation {
  if (judged.verdict === 'ask') return 'rulePrompt'
  if (judged.dangerous) return 'dangerous'
  return request.escalated && sandboxed ? 'escalation' : 'ordinary'
}

function refusal(
  request: CommandRequest,
  policy: ApprovalPolicy,
  judged: CommandVerdict,
  situation: PolicySituation,
): string {
  const rejected = `\`${shown(request.argv)}\` rejected: `
  if (policy !== 'never') return `${rejected}it needs an approval that this thread's policy does not ask for`
  return situation === 'escalation'
    ? 'approval policy is Never; escalated permissions cannot be requested, run it inside the sandbox or leave it'
    : `${rejected}${judged.reason ?? 'it needs approval'}, and the approval policy is Never`
}

async function amendmentFor(
  request: CommandRequest,
  judged: CommandVerdict,
  rules: CommandRules,
): Promise<string[] | null> {
  const own = request.proposedPrefix
  if (own && own.length > 0 && (await rules.acceptsPrefix(own, request.argv, request.cwd))) return own
  return judged.proposedPrefix
}

const shown = (argv: readonly string[]): string => argv.join(' ')

/** Key of "allowed for this session": exactly this command, not a prefix of it. */
export function sessionKey(request: CommandRequest): string {
  return JSON.stringify([request.argv, request.cwd, request.tty, request.escalated])
}

export type CommandApprovalParams = ServerRequestMap['item/commandExecution/requestApproval']['params']
