/**
 * Items as Codex CLI stores them in its rollout files (type names in PascalCase, members in snake_case)
 * -> items of the protocol. Our own files hold the protocol's form already.
 */
import type {
  AgentState,
  AgentToolCallItem,
  CommandAction,
  CommandExecutionItem,
  FileChange,
  ThreadItem,
  UserInput,
} from '../../protocol/app-server/thread-item.ts'
import { pathFromUri } from './path-from-uri.ts'
import { shellJoin } from './shell-join.ts'

type Stored = Record<string, unknown>
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const list = (value: unknown): Stored[] => (Array.isArray(value) ? (value as Stored[]) : [])
const milliseconds = (value: unknown): number | null => {
  const { secs, nanos } = (value ?? {}) as { secs?: number; nanos?: number }
  return typeof secs === 'number' ? Math.round(secs * 1000 + (nanos ?? 0) / 1e6) : null
}

/** Null for a kind that has no place in the protocol. */
export function itemFromCodex(stored: Stored): ThreadItem | null {
  const id = text(stored.id)
  switch (stored.type) {
    case 'UserMessage':
      return {
        type: 'userMessage',
        id,
        clientId: (stored.client_id as string | undefined) ?? null,
        content: list(stored.content) as unknown as UserInput[],
      }
    case 'AgentMessage':
      return {
        type: 'agentMessage',
        id,
        text: list(stored.content)
          .map((part) => text(part.text))
          .join(''),
        phase: (stored.phase as 'commentary' | 'final_answer' | undefined) ?? null,
        memoryCitation: null,
      }
    case 'Reasoning':
      return {
        type: 'reasoning',
        id,
        summary: (stored.summary_text as string[] | undefined) ?? [],
        content: (stored.raw_content as string[] | undefined) ?? [],
      }
    case 'Plan':
      return { type: 'plan', id, text: text(stored.text) }
    case 'CommandExecution':
      return commandItem(id, stored)
    case 'FileChange':
      return {
        type: 'fileChange',
        id,
        changes: fileChanges(stored.changes),
        status: stored.status === 'completed' ? 'completed' : stored.status === 'declined' ? 'declined' : 'failed',
      }
    case 'McpToolCall':
      return {
        type: 'mcpToolCall',
        id,
        server: text(stored.server),
        tool: text(stored.tool),
        arguments: stored.arguments ?? null,
        status: stored.status === 'completed' ? 'completed' : 'failed',
        result: stored.result
          ? { structuredContent: null, _meta: null, ...(stored.result as { content: unknown[] }) }
          : null,
        error: stored.error ? { message: text((stored.error as Stored).message) } : null,
        readOnlyHint: (stored.readOnlyHint as boolean | undefined) ?? null,
        durationMs: milliseconds(stored.duration),
      }
    case 'CollabAgentToolCall':
      return agentToolItem(id, stored)
    case 'WebSearch':
      return { type: 'webSearch', id, query: text(stored.query), action: stored.action ?? null }
    case 'ImageView':
      return { type: 'imageView', id, path: pathFromUri(text(stored.path)) }
    case 'EnteredReviewMode':
      return { type: 'enteredReviewMode', id, review: text(stored.user_facing_hint) }
    case 'ExitedReviewMode':
      return {
        type: 'exitedReviewMode',
        id,
        review: text((stored.review_output as Stored | undefined)?.overall_explanation),
      }
    case 'ContextCompaction':
      return { type: 'contextCompaction', id }
    default:
      return null
  }
}

const SOURCES: Record<string, CommandExecutionItem['source']> = {
  agent: 'agent',
  user_shell: 'userShell',
  unified_exec_startup: 'unifiedExecStartup',
  unified_exec_interaction: 'unifiedExecInteraction',
}

const AGENT_TOOLS: Record<string, AgentToolCallItem['tool']> = {
  spawn_agent: 'spawnAgent',
  send_input: 'sendInput',
  resume_agent: 'resumeAgent',
  wait: 'wait',
  close_agent: 'closeAgent',
  send_message: 'sendMessage',
  followup_task: 'followupTask',
  interrupt_agent: 'interruptAgent',
  list_agents: 'listAgents',
}

function agentToolItem(id: string, stored: Stored): AgentToolCallItem | null {
  const tool = AGENT_TOOLS[text(stored.tool)]
  if (!tool) return null
  const states = Object.entries((stored.agents_states ?? {}) as Stored).map(([agent, state]) => [
    agent,
    agentState(state),
  ])
  return {
    type: 'collabAgentToolCall',
    id,
    tool,
    status: stored.status === 'completed' ? 'completed' : 'failed',
    senderThreadId: text(stored.sender_thread_id),
    receiverThreadIds: (stored.receiver_thread_ids as string[] | undefined) ?? [],
    prompt: typeof stored.prompt === 'string' ? stored.prompt : null,
    model: typeof stored.model === 'string' ? stored.model : null,
    reasoningEffort: typeof stored.reasoning_effort === 'string' ? stored.reasoning_effort : null,
    agentsStates: Object.fromEntries(states),
  }
}

/** A word, or an object that holds the last message. */
function agentState(stored: unknown): AgentState {
  const [word, message] =
    typeof stored === 'string' ? [stored, null] : (Object.entries((stored ?? {}) as Stored)[0] ?? ['not_found', null])
  const status = word.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as AgentState['status']
  return { status, message: typeof message === 'string' ? message : null }
}

function commandItem(id: string, stored: Stored): CommandExecutionItem {
  const argv = Array.isArray(stored.command) ? (stored.command as string[]) : [text(stored.command)]
  const status = stored.status === 'completed' || stored.status === 'declined' ? stored.status : 'failed'
  return {
    type: 'commandExecution',
    id,
    command: shellJoin(argv),
    cwd: pathFromUri(text(stored.cwd)),
    processId: (stored.process_id as string | undefined) ?? null,
    source: SOURCES[text(stored.source)] ?? 'agent',
    status,
    commandActions: list(stored.parsed_cmd).map(commandAction),
    aggregatedOutput: typeof stored.aggregated_output === 'string' ? stored.aggregated_output : null,
    exitCode: typeof stored.exit_code === 'number' ? stored.exit_code : null,
    durationMs: milliseconds(stored.duration),
  }
}

function commandAction(parsed: Stored): CommandAction {
  const command = text(parsed.cmd)
  const path = typeof parsed.path === 'string' ? parsed.path : null
  switch (parsed.type) {
    case 'read':
      return { type: 'read', command, name: text(parsed.name), path: path ?? '' }
    case 'list_files':
      return { type: 'listFiles', command, path }
    case 'search':
      return { type: 'search', command, query: typeof parsed.query === 'string' ? parsed.query : null, path }
    default:
      return { type: 'unknown', command }
  }
}

function fileChanges(stored: unknown): FileChange[] {
  return Object.entries((stored ?? {}) as Record<string, Stored>).map(([path, change]) => {
    if (change.type === 'add' || change.type === 'delete')
      return { path, kind: { type: change.type }, diff: text(change.content) }
    return {
      path,
      kind: { type: 'update', move_path: typeof change.move_path === 'string' ? change.move_path : null },
      diff: text(change.unified_diff),
    }
  })
}
