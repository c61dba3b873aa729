/** Puts a command before the clients and acts on the answer. */
import type { CommandDecision } from '../../protocol/app-server/server-requests.ts'
import type { CommandExecutionItem } from '../../protocol/app-server/thread-item.ts'
import type { CommandSubject } from '../../protocol/subject.ts'
import type { ActiveTurn } from './active-turn.ts'
import { commandEnvironment } from './command-environment.ts'
import { sessionKey, type CommandPlan, type CommandRequest } from './command-approval.ts'
import type { ThreadRuntime } from './thread-runtime.ts'
import { TurnStop, type ToolOutput } from './tool-call.ts'

/** What a person is asked to say yes to. */
export interface CommandQuestion {
  plan: Extract<CommandPlan, { do: 'ask' }>
  /** The walls that it would run behind. */
  sandbox: CommandSubject['sandbox']
  /** Its last words when the sandbox refused it. */
  refused?: string
}

export interface ApprovedCommand {
  outsideSandbox: boolean
  /** A person said yes, now or for the session. */
  isApproved: boolean
  /** Set when the item was announced with the question. */
  startedAtMs: number | null
}

/** What the model reads when a person said no. */
const REJECTED = 'exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }'

/**
 * Resolves with how to run it, or with the output for the model when it may not run. Throws TurnStop
 * when the person cancelled. A client's error or an unreadable answer is a failed approval, never a yes.
 */
export async function askForCommand(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  request: CommandRequest,
  item: CommandExecutionItem,
  { plan, sandbox, refused }: CommandQuestion,
  signal: AbortSignal,
): Promise<ApprovedCommand | { output: ToolOutput }> {
  const startedAtMs = thread.services.nowMs()
  let announced = startedAtMs
  let words: string | undefined
  const decision = await thread
    .ask(
      'item/commandExecution/requestApproval',
      {
        kind: 'command',
        threadId: thread.id,
        turnId: turn.id,
        itemId: item.id,
        startedAtMs,
        environmentId: 'local',
        reason: plan.reason,
        command: item.command,
        cwd: item.cwd,
        commandActions: item.commandActions,
        ...(plan.amendment ? { proposedExecpolicyAmendment: plan.amendment } : {}),
        availableDecisions: plan.choices,
      },
      signal,
      'waitingOnApproval',
      {
        announce: () => (announced = thread.beginItem(turn.id, { ...item })),
        subject: {
          kind: 'command',
          argv: request.argv,
          cwd: request.cwd,
          envChanges: commandEnvironment(),
          tty: request.tty,
          stdin: request.tty ? 'tty' : 'none',
          sandbox,
        },
        ...(refused !== undefined && { refused }),
      },
    )
    .then((answer) => {
      words = answer.words
      return answer.decision
    })
    .catch((error: unknown) => {
      signal.throwIfAborted()
      return { failed: (error as Error).message }
    })
  if (typeof decision === 'object' && 'failed' in decision) {
    thread.finishItem(turn.id, { ...item, status: 'failed' }, announced)
    return {
      output: { content: `exec_command failed: approval could not be obtained: ${decision.failed}`, success: false },
    }
  }
  const verdict = await act(thread, request, decision)
  if (verdict === 'run') return { outsideSandbox: request.escalated, isApproved: true, startedAtMs: announced }
  thread.finishItem(turn.id, { ...item, status: 'declined' }, announced)
  if (verdict === 'stop') throw new TurnStop('cancelled by the user')
  return { output: { content: words ? `exec_command failed: rejected by user: ${words}` : REJECTED, success: false } }
}

async function act(
  thread: ThreadRuntime,
  request: CommandRequest,
  decision: CommandDecision,
): Promise<'run' | 'reject' | 'stop'> {
  if (decision === 'accept') return 'run'
  if (decision === 'acceptForSession') {
    thread.approvals.commands.add(sessionKey(request))
    return 'run'
  }
  if (decision === 'cancel') return 'stop'
  if (typeof decision === 'object' && 'acceptWithExecpolicyAmendment' in decision) {
    const prefix = decision.acceptWithExecpolicyAmendment.execpolicy_amendment
    await thread.services.rules
      .addPrefix(prefix)
      .catch((error: unknown) =>
        thread.warn(`the rule for ${JSON.stringify(prefix)} could not be kept: ${(error as Error).message}`),
      )
    return 'run'
  }
  // `decline`, and everything this server does not know: not a yes.
  return 'reject'
}
