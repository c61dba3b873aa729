/** `exec_command`: runs a shell command, answers when it ends or after a while. */
import type { CommandExecutionItem } from '../../../protocol/app-server/thread-item.ts'
import type { CommandSubject } from '../../../protocol/subject.ts'
import type { ActiveTurn } from '../active-turn.ts'
import { askForCommand, type ApprovedCommand } from '../ask-for-command.ts'
import { planCommand, sessionKey, type CommandRequest } from '../command-approval.ts'
import { patchInShell } from '../patch-in-shell.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolCall, type ToolHandler, type ToolOutput } from '../tool-call.ts'
import { readBoolean, readText, readTexts } from '../tool-arguments.ts'
import { runPatch } from './apply-patch.ts'
import { answerOf, commandItem, limitsOf, startAndWait } from './command-run.ts'
import { retryOutside } from './sandbox-retry.ts'

export function execCommandTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: true,
    run: (call, turn, signal) => run(thread, call, turn, signal),
    abortedText: (seconds) => `Wall time: ${seconds} seconds\naborted by user`,
  }
}

async function run(thread: ThreadRuntime, call: ToolCall, turn: ActiveTurn, signal: AbortSignal): Promise<ToolOutput> {
  const args = argumentsOf(call)
  const cmd = readText(args, 'cmd')
  if (cmd === undefined) throw new ToolFailure('failed to parse function arguments: missing field `cmd`')
  const cwd = resolveIn(turn.settings.cwd, readText(args, 'workdir'))
  const patch = patchInShell(cmd)
  if (patch) return runPatch(thread, call.callId, turn, patch.text, resolveIn(cwd, patch.cwd ?? undefined), signal)

  const shell = readText(args, 'shell') ?? thread.services.shell.path
  const request: CommandRequest = {
    argv: [shell, readBoolean(args, 'login') === false ? '-c' : '-lc', cmd],
    cwd,
    tty: readBoolean(args, 'tty') ?? false,
    escalated: readText(args, 'sandbox_permissions') === 'require_escalated',
    justification: readText(args, 'justification') ?? null,
    proposedPrefix: readTexts(args, 'prefix_rule') ?? null,
  }
  const sandboxed =
    turn.settings.sandboxPolicy.type !== 'dangerFullAccess' && turn.settings.sandboxPolicy.type !== 'externalSandbox'
  const item = commandItem(call.callId, request)
  const approved = await approve(thread, turn, request, item, sandboxed, signal)
  if ('output' in approved) return approved.output

  const run = { thread, turn, request, limits: limitsOf(args), signal }
  const attempt = await startAndWait(run, item, approved)
  return (await retryOutside(run, attempt)) ?? answerOf(run, attempt)
}

async function approve(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  request: CommandRequest,
  item: CommandExecutionItem,
  sandboxed: boolean,
  signal: AbortSignal,
): Promise<ApprovedCommand | { output: ToolOutput }> {
  if (thread.approvals.commands.has(sessionKey(request)))
    return { outsideSandbox: request.escalated || !sandboxed, isApproved: true, startedAtMs: null }
  const plan = await planCommand(request, turn.settings.approvalPolicy, thread.services.rules, sandboxed)
  signal.throwIfAborted()
  if (plan.do === 'refuse') return { output: { content: plan.text, success: false } }
  if (plan.do === 'run') return { outsideSandbox: plan.outsideSandbox, isApproved: false, startedAtMs: null }
  return askForCommand(thread, turn, request, item, { plan, sandbox: sandboxName(turn, request) }, signal)
}

/** The walls that a command runs behind once it is approved. */
function sandboxName({ settings }: ActiveTurn, { escalated }: CommandRequest): CommandSubject['sandbox'] {
  switch (settings.sandboxPolicy.type) {
    case 'dangerFullAccess':
      return 'none'
    case 'externalSandbox':
      return escalated ? 'none' : 'external'
    case 'readOnly':
      return escalated ? 'none' : 'read-only'
    case 'workspaceWrite':
      return escalated ? 'none' : 'workspace-write'
  }
}

function resolveIn(cwd: string, path: string | undefined): string {
  if (path === undefined || path === '') return cwd
  return path.startsWith('/') ? path : `${cwd.replace(/\/$/, '')}/${path}`
}
