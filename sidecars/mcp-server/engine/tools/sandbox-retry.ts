/** What comes of a command that its sandbox refused. */
import { policyAction } from '../../../rules/approval-policy.ts'
import { askForCommand } from '../ask-for-command.ts'
import { retryPlan, sessionKey } from '../command-approval.ts'
import type { ToolOutput } from '../tool-call.ts'
import { answerOf, commandItem, startAndWait, type Attempt, type CommandRun } from './command-run.ts'

/** Of the output of a command that its sandbox refused, what the owner is shown. */
const REFUSAL_LINES = 8
const REFUSAL_CHARACTERS = 1_000

/**
 * When its sandbox refused the command, and the policy has a person asked then: they are shown what was refused, and
 * only their yes runs it again, without the sandbox. The model gets what the last attempt said. Undefined when there
 * is nothing to ask. To be called whenever the model may learn of the command's end, with the call or long after it;
 * asked is once.
 */
export async function retryOutside(run: CommandRun, first: Attempt): Promise<ToolOutput | undefined> {
  const asksAgain = policyAction(run.turn.settings.approvalPolicy, 'sandboxDenial') === 'ask'
  if (!asksAgain || !first.terminal.takeRefusal()) return undefined
  const { thread, turn, signal } = run
  const request = { ...run.request, escalated: true }
  const item = commandItem(`${first.terminal.itemId}-outside`, request)
  const refused = lastLines(first.terminal.output.text)
  const approved = thread.approvals.commands.has(sessionKey(request))
    ? { outsideSandbox: true, isApproved: true, startedAtMs: null }
    : await askForCommand(thread, turn, request, item, { plan: retryPlan(), sandbox: 'none', refused }, signal)
  if (!('output' in approved)) {
    if (first.terminal.ended) thread.terminals.forget(first.terminal)
    return answerOf(run, await startAndWait({ ...run, request }, item, approved))
  }
  const said = answerOf(run, first)
  return {
    ...said,
    content: `${String(said.content).trimEnd()}\n[the sandbox refused it, and running it without was not allowed: ${String(approved.output.content)}]\n`,
  }
}

/** The end of what a command printed: where programs say why they failed. */
const lastLines = (text: string): string =>
  text.trimEnd().split('\n').slice(-REFUSAL_LINES).join('\n').slice(-REFUSAL_CHARACTERS)
