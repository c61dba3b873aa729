/** `exec_command`: runs a shell command, answers when it ends or after a while. */
import type { CommandExecutionItem } from '../../../protocol/app-server/thread-item.ts'
import { spawnErrorKindOf, type ExecStart } from '../../../exec-server/client/index.ts'
import { shellJoin } from '../../rollout/shell-join.ts'
import { policyAction } from '../../../rules/approval-policy.ts'
import type { CommandSubject } from '../../../protocol/subject.ts'
import type { ActiveTurn } from '../active-turn.ts'
import { askForCommand, type ApprovedCommand } from '../ask-for-command.ts'
import { commandEnvironment } from '../command-environment.ts'
import { planCommand, retryPlan, sessionKey, type CommandRequest } from '../command-approval.ts'
import { withGrants } from '../granted-settings.ts'
import { commandActions } from '../command-actions.ts'
import { chunkId, CommandItemStream } from '../command-item-stream.ts'
import { commandAnswerText, DEFAULT_OUTPUT_TOKENS } from '../output-text.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolCall, type ToolHandler, type ToolOutput } from '../tool-call.ts'
import { readBoolean, readNumber, readText, readTexts } from '../tool-arguments.ts'
import { patchInShell } from '../patch-in-shell.ts'
import type { Terminal } from '../terminals.ts'
import { runPatch } from './apply-patch.ts'

const DEFAULT_YIELD_MS = 10_000
const MIN_YIELD_MS = 250
const MAX_YIELD_MS = 30_000
/** Of the output of a command that its sandbox refused, what the owner is shown. */
const REFUSAL_LINES = 8
const REFUSAL_CHARACTERS = 1_000

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

  const yieldMs = clamp(readNumber(args, 'yield_time_ms') ?? DEFAULT_YIELD_MS, MIN_YIELD_MS, MAX_YIELD_MS)
  const maxTokens = readNumber(args, 'max_output_tokens') ?? DEFAULT_OUTPUT_TOKENS
  const run = { thread, turn, request, limits: { yieldMs, maxTokens }, signal }
  const first = await startAndWait(run, item, approved)
  const asksAgain = policyAction(turn.settings.approvalPolicy, 'sandboxDenial') === 'ask'
  if (!asksAgain || approved.outsideSandbox || first.terminal.exitCode === null || !first.terminal.sandboxDenied)
    return answerOf(run, first)
  return retryOutside(run, first)
}

/** One call of the tool on its way. */
interface CommandRun {
  thread: ThreadRuntime
  turn: ActiveTurn
  request: CommandRequest
  limits: { yieldMs: number; maxTokens: number }
  signal: AbortSignal
}
interface Attempt {
  terminal: Terminal
  startedAtMs: number
}

/**
 * The sandbox refused it: a person is shown what was refused, and only their yes runs it again, without the
 * sandbox. The model gets what the last attempt said.
 */
async function retryOutside(run: CommandRun, first: Attempt): Promise<ToolOutput> {
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

/** Starts it and waits until it has ended or `yieldMs` passed. */
async function startAndWait(
  { thread, turn, request, limits, signal }: CommandRun,
  item: CommandExecutionItem,
  approved: ApprovedCommand,
): Promise<Attempt> {
  const startedAtMs = thread.services.nowMs()
  const stream = new CommandItemStream(thread, turn.id, item, approved.startedAtMs)
  const sandbox = approved.outsideSandbox ? null : thread.services.sandboxObject(withGrants(turn, thread.approvals))
  const start: ExecStart = {
    argv: request.argv,
    cwd: request.cwd,
    tty: request.tty,
    env: commandEnvironment(),
    envPolicy: { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
    metadata: { threadId: thread.id, toolCallId: item.id },
    ...(sandbox ? { sandbox } : {}),
  }
  let terminal
  try {
    terminal = await thread.terminals.start({
      itemId: item.id,
      turnId: turn.id,
      command: request.argv.at(-1)!,
      start,
      events: stream,
      signal,
      isApproved: approved.isApproved,
    })
  } catch (error) {
    signal.throwIfAborted()
    stream.fail((error as Error).message)
    const kind = spawnErrorKindOf(error)
    throw new ToolFailure(`exec_command failed: ${kind ? `${kind}: ` : ''}${(error as Error).message}`, {
      cause: error,
    })
  }
  stream.started(terminal)
  if (thread.terminals.areMany)
    thread.warn('this session has about 60 commands running in the background; beyond 64 the oldest are ended')
  await terminal.settle(limits.yieldMs, signal)
  return { terminal, startedAtMs }
}

function answerOf({ thread, limits }: CommandRun, { terminal, startedAtMs }: Attempt): ToolOutput {
  const output = terminal.takeUnread()
  if (terminal.ended) thread.terminals.forget(terminal)
  return {
    content: commandAnswerText({
      chunkId: chunkId(),
      wallTimeMs: thread.services.nowMs() - startedAtMs,
      exitCode: terminal.ended ? (terminal.exitCode ?? -1) : null,
      sessionId: terminal.ended ? null : terminal.id,
      output,
      maxTokens: limits.maxTokens,
    }),
    success: !terminal.ended || terminal.exitCode === 0,
  }
}

function commandItem(id: string, request: CommandRequest): CommandExecutionItem {
  return {
    type: 'commandExecution',
    id,
    command: shellJoin(request.argv),
    cwd: request.cwd,
    processId: null,
    source: 'agent',
    status: 'inProgress',
    commandActions: commandActions(request.argv.at(-1)!, request.cwd),
    aggregatedOutput: null,
    exitCode: null,
    durationMs: null,
  }
}

function resolveIn(cwd: string, path: string | undefined): string {
  if (path === undefined || path === '') return cwd
  return path.startsWith('/') ? path : `${cwd.replace(/\/$/, '')}/${path}`
}

const clamp = (value: number, min: number, max: number): number => Math.min(max, Math.max(min, value))
