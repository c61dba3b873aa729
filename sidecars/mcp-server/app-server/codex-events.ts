/**
 * What happens in a thread in the words of the Codex MCP server's `codex/event` notifications, for clients
 * that were made for it. Names of events and members are that server's.
 */
import type { NotificationMap } from '../../protocol/app-server/notifications.ts'
import type {
  AgentMessageItem,
  CommandExecutionItem,
  FileChangeItem,
  ThreadItem,
  UserMessageItem,
} from '../../protocol/app-server/thread-item.ts'
import { tokenCountRecord } from '../engine/token-usage.ts'

export interface CodexEvent {
  /** Turn that it belongs to; empty for the thread itself. */
  turnId: string
  message: { type: string } & Record<string, unknown>
}

/** The thread is open: what it works with. */
export function sessionConfigured(opened: Record<string, unknown> & { thread: Record<string, unknown> }): CodexEvent {
  const { thread } = opened
  return {
    turnId: '',
    message: {
      type: 'session_configured',
      session_id: thread.id,
      thread_id: thread.id,
      model: opened.model,
      model_provider_id: opened.modelProvider,
      approval_policy: opened.approvalPolicy,
      approvals_reviewer: opened.approvalsReviewer,
      cwd: opened.cwd,
      rollout_path: thread.path,
    },
  }
}

/** None, one or two events for a notification. */
export function codexEvents(method: string, params: Record<string, unknown>): CodexEvent[] {
  const turnId = String(params.turnId ?? '')
  const one = (type: string, more: Record<string, unknown>): CodexEvent[] => [{ turnId, message: { type, ...more } }]
  switch (method) {
    case 'turn/started': {
      const { turn } = params as unknown as NotificationMap['turn/started']
      return [{ turnId: turn.id, message: { type: 'task_started', turn_id: turn.id } }]
    }
    case 'turn/completed':
      return turnEnd(params as unknown as NotificationMap['turn/completed'])
    case 'item/started':
    case 'item/completed': {
      const { threadId, item } = params as unknown as NotificationMap['item/started']
      const type = method === 'item/started' ? 'item_started' : 'item_completed'
      const general = one(type, { thread_id: threadId, turn_id: turnId, item })
      const special = method === 'item/started' ? itemBegin(item, turnId) : itemEnd(item, turnId)
      return [...general, ...(special ? one(special.type, special) : [])]
    }
    case 'item/agentMessage/delta':
      return one('agent_message_content_delta', {
        thread_id: params.threadId,
        turn_id: turnId,
        item_id: params.itemId,
        delta: params.delta,
      })
    case 'turn/diff/updated':
      return one('turn_diff', { unified_diff: params.diff })
    case 'thread/tokenUsage/updated': {
      const { tokenUsage } = params as unknown as NotificationMap['thread/tokenUsage/updated']
      return one('token_count', tokenCountRecord(tokenUsage))
    }
    case 'error': {
      const { error, willRetry } = params as unknown as NotificationMap['error']
      return one(willRetry ? 'stream_error' : 'error', { message: error.message })
    }
    case 'warning':
      return one('warning', { message: params.message })
    default:
      return []
  }
}

type Special = { type: string } & Record<string, unknown>

function itemBegin(item: ThreadItem, turnId: string): Special | null {
  if (item.type === 'commandExecution') {
    const { id, command, cwd, processId, source } = item as CommandExecutionItem
    const common = { call_id: id, turn_id: turnId, process_id: processId, command: [command], cwd, source }
    return { type: 'exec_command_begin', ...common }
  }
  if (item.type !== 'fileChange') return null
  const { id, changes } = item as FileChangeItem
  return { type: 'patch_apply_begin', call_id: id, turn_id: turnId, changes: changesOf(changes) }
}

function itemEnd(item: ThreadItem, turnId: string): Special | null {
  switch (item.type) {
    case 'userMessage': {
      const texts = (item as UserMessageItem).content.map((part) => (part.type === 'text' ? part.text : ''))
      return { type: 'user_message', message: texts.join('') }
    }
    case 'agentMessage':
      return { type: 'agent_message', message: (item as AgentMessageItem).text }
    case 'commandExecution': {
      const { id, aggregatedOutput, exitCode, durationMs, status } = item as CommandExecutionItem
      const ms = durationMs ?? 0
      return {
        type: 'exec_command_end',
        call_id: id,
        turn_id: turnId,
        // Both streams in the order they came: nobody keeps them apart here.
        stdout: aggregatedOutput ?? '',
        stderr: '',
        aggregated_output: aggregatedOutput ?? '',
        exit_code: exitCode,
        duration: { secs: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 },
        status,
      }
    }
    case 'fileChange': {
      const { id, changes, status } = item as FileChangeItem
      const success = status === 'completed'
      return { type: 'patch_apply_end', call_id: id, turn_id: turnId, success, status, changes: changesOf(changes) }
    }
    default:
      return null
  }
}

function changesOf(changes: FileChangeItem['changes']): Record<string, unknown> {
  return Object.fromEntries(changes.map(({ path, kind, diff }) => [path, { type: kind.type, unified_diff: diff }]))
}

function turnEnd({ turn }: NotificationMap['turn/completed']): CodexEvent[] {
  const message: CodexEvent['message'] =
    turn.status === 'interrupted'
      ? { type: 'turn_aborted', turn_id: turn.id, reason: 'interrupted' }
      : {
          type: 'task_complete',
          turn_id: turn.id,
          last_agent_message: (turn.items.at(-1) as AgentMessageItem | undefined)?.text ?? null,
          duration_ms: turn.durationMs,
        }
  return [{ turnId: turn.id, message }]
}
