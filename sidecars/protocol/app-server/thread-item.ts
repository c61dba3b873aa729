/** Visible things inside a turn (app-server v2). Key a view on `id` alone; other members may change. */

interface ItemBase {
  id: string
  startedAtMs?: number | null
  completedAtMs?: number | null
}

export type UserInput =
  | {
      type: 'text'
      text: string
      text_elements?: { byteRange: { start: number; end: number }; placeholder: string | null }[]
    }
  | { type: 'image'; url?: string; fileId?: string; detail?: string }
  | { type: 'localImage'; path: string; detail?: string }
  | { type: 'audio'; url?: string; fileId?: string }
  | { type: 'localAudio'; path: string }
  | { type: 'skill'; name: string; path: string }
  | { type: 'mention'; name: string; path: string }

export type CommandAction =
  | { type: 'read'; command: string; name: string; path: string }
  | { type: 'listFiles'; command: string; path: string | null }
  | { type: 'search'; command: string; query: string | null; path: string | null }
  | { type: 'unknown'; command: string }

export type CommandSource = 'agent' | 'userShell' | 'unifiedExecStartup' | 'unifiedExecInteraction'
export type CommandStatus = 'inProgress' | 'completed' | 'failed' | 'declined'

export interface UserMessageItem extends ItemBase {
  type: 'userMessage'
  clientId: string | null
  content: UserInput[]
}
export interface AgentMessageItem extends ItemBase {
  type: 'agentMessage'
  text: string
  phase: 'commentary' | 'partial_answer' | 'final_answer' | null
  memoryCitation: unknown
}
export interface ReasoningItem extends ItemBase {
  type: 'reasoning'
  summary: string[]
  content: string[]
}
export interface PlanItem extends ItemBase {
  type: 'plan'
  text: string
}
export interface CommandExecutionItem extends ItemBase {
  type: 'commandExecution'
  /** Shell-joined text of the whole argv. */
  command: string
  cwd: string
  processId: string | null
  source: CommandSource
  status: CommandStatus
  commandActions: CommandAction[]
  aggregatedOutput: string | null
  exitCode: number | null
  durationMs: number | null
}
export interface FileChange {
  path: string
  kind: { type: 'add' } | { type: 'delete' } | { type: 'update'; move_path: string | null }
  /** add, delete: the whole content; update: hunks without file header. */
  diff: string
}
export interface FileChangeItem extends ItemBase {
  type: 'fileChange'
  changes: FileChange[]
  status: 'inProgress' | 'completed' | 'failed' | 'declined'
}
export interface McpToolCallItem extends ItemBase {
  type: 'mcpToolCall'
  server: string
  tool: string
  arguments: unknown
  status: 'inProgress' | 'completed' | 'failed'
  result: { content: unknown[]; structuredContent: unknown; _meta: unknown } | null
  error: { message: string } | null
  readOnlyHint: boolean | null
  durationMs: number | null
}
export interface DynamicToolCallItem extends ItemBase {
  type: 'dynamicToolCall'
  namespace: string | null
  tool: string
  arguments: unknown
  status: 'inProgress' | 'completed' | 'failed'
  contentItems: unknown[] | null
  success: boolean | null
  durationMs: number | null
}
export type AgentStatus = 'pendingInit' | 'running' | 'interrupted' | 'completed' | 'errored' | 'shutdown' | 'notFound'
/** How a child agent stands; `message` is its last words, or what went wrong. */
export interface AgentState {
  status: AgentStatus
  message: string | null
}
export interface AgentToolCallItem extends ItemBase {
  type: 'collabAgentToolCall'
  /** The last four only from other servers. */
  tool:
    | 'spawnAgent'
    | 'sendInput'
    | 'resumeAgent'
    | 'wait'
    | 'closeAgent'
    | 'sendMessage'
    | 'followupTask'
    | 'interruptAgent'
    | 'listAgents'
  status: 'inProgress' | 'completed' | 'failed' | 'interrupted'
  senderThreadId: string
  receiverThreadIds: string[]
  prompt: string | null
  model: string | null
  reasoningEffort: string | null
  /** By thread id. */
  agentsStates: Record<string, AgentState>
}
export interface WebSearchItem extends ItemBase {
  type: 'webSearch'
  query: string
  action: unknown
}
export interface ImageViewItem extends ItemBase {
  type: 'imageView'
  path: string
}
export interface ReviewModeItem extends ItemBase {
  type: 'enteredReviewMode' | 'exitedReviewMode'
  review: string
}
export interface ContextCompactionItem extends ItemBase {
  type: 'contextCompaction'
}

export type ThreadItem =
  | UserMessageItem
  | AgentMessageItem
  | ReasoningItem
  | PlanItem
  | CommandExecutionItem
  | FileChangeItem
  | McpToolCallItem
  | DynamicToolCallItem
  | AgentToolCallItem
  | WebSearchItem
  | ImageViewItem
  | ReviewModeItem
  | ContextCompactionItem
