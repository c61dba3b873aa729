/** A command of the model from its start to the answer. */
import { spawnErrorKindOf, type ExecStart } from '../../../exec-server/client/index.ts'
import type { CommandExecutionItem } from '../../../protocol/app-server/thread-item.ts'
import { shellJoin } from '../../rollout/shell-join.ts'
import type { ActiveTurn } from '../active-turn.ts'
import type { ApprovedCommand } from '../ask-for-command.ts'
import { commandActions } from '../command-actions.ts'
import type { CommandRequest } from '../command-approval.ts'
import { commandEnvironment } from '../command-environment.ts'
import { chunkId, CommandItemStream } from '../command-item-stream.ts'
import { withGrants } from '../granted-settings.ts'
import { commandAnswerText, DEFAULT_OUTPUT_TOKENS } from '../output-text.ts'
import type { Terminal } from '../terminals.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { readNumber } from '../tool-arguments.ts'
import { ToolFailure, type ToolOutput } from '../tool-call.ts'

const DEFAULT_YIELD_MS = 10_000
const MIN_YIELD_MS = 250
const MAX_YIELD_MS = 30_000

/** How long the model waits for an answer, and how long that may be, from the arguments of a tool. */
export function limitsOf(args: Record<string, unknown>): CommandRun['limits'] {
  const asked = readNumber(args, 'yield_time_ms') ?? DEFAULT_YIELD_MS
  return {
    yieldMs: Math.min(MAX_YIELD_MS, Math.max(MIN_YIELD_MS, asked)),
    maxTokens: readNumber(args, 'max_output_tokens') ?? DEFAULT_OUTPUT_TOKENS,
  }
}

/** One call of the tool on its way. */
export interface CommandRun {
  thread: ThreadRuntime
  turn: ActiveTurn
  request: CommandRequest
  limits: { yieldMs: number; maxTokens: number }
  signal: AbortSignal
}
export interface Attempt {
  terminal: Terminal
  startedAtMs: number
}

/** Starts it and waits until it has ended or `yieldMs` passed. */
export async function startAndWait(
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
      confined: sandbox ? request : null,
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

/** What the model is told of it. One that has ended is forgotten. */
export function answerOf(
  { thread, limits }: Pick<CommandRun, 'thread' | 'limits'>,
  { terminal, startedAtMs }: Attempt,
): ToolOutput {
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

export function commandItem(id: string, request: CommandRequest): CommandExecutionItem {
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
