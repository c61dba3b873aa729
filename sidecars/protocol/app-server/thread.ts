/** Threads, turns and the settings that go with them (app-server v2). Seconds unless a name ends in Ms. */
import type { ThreadItem } from './thread-item.ts'

export type ApprovalPolicy =
  | 'untrusted'
  | 'on-request'
  | 'never'
  | {
      granular: {
        sandbox_approval: boolean
        rules: boolean
        skill_approval: boolean
        request_permissions: boolean
        mcp_elicitations: boolean
      }
    }
export type ApprovalsReviewer = 'user' | 'auto_review' | 'guardian_subagent'

/** How a sandbox is named at start, resume and fork; the object form stands everywhere else. */
export type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access'
export type SandboxPolicy =
  | { type: 'readOnly'; networkAccess: boolean }
  | {
      type: 'workspaceWrite'
      writableRoots: string[]
      networkAccess: boolean
      excludeTmpdirEnvVar: boolean
      excludeSlashTmp: boolean
    }
  | { type: 'dangerFullAccess' }
  | { type: 'externalSandbox'; networkAccess: 'restricted' | 'enabled' }

export type ThreadStatus =
  | { type: 'notLoaded' }
  | { type: 'idle' }
  | { type: 'systemError' }
  | { type: 'active'; activeFlags: ThreadActiveFlag[] }
export type ThreadActiveFlag = 'waitingOnApproval' | 'waitingOnUserInput'

export type ThreadSource =
  | 'cli'
  | 'vscode'
  | 'exec'
  | 'appServer'
  | 'unknown'
  | { custom: string }
  | { subAgent: unknown }
export type HistoryMode = 'legacy' | 'paginated'

export interface GitInfo {
  sha: string | null
  branch: string | null
  originUrl: string | null
}

export interface Thread {
  id: string
  sessionId: string
  /** First words of the first user message. */
  preview: string
  ephemeral: boolean
  historyMode: HistoryMode
  modelProvider: string
  model: string | null
  reasoningEffort: string | null
  createdAt: number
  updatedAt: number
  recencyAt: number
  status: ThreadStatus
  /** Rollout file; null for ephemeral threads. */
  path: string | null
  cwd: string
  cliVersion: string
  source: ThreadSource
  originator: string | null
  threadSource: string | null
  name: string | null
  gitInfo: GitInfo | null
  /** Filled by resume, fork and read with turns only. */
  turns: Turn[]
  forkedFromId: string | null
  parentThreadId: string | null
  attachedToThreadId: string | null
  agentNickname: string | null
  agentRole: string | null
  section: string | null
  sectionEnteredAt: number | null
  projectId: string | null
  environments: unknown[]
  extra: unknown
  canAcceptDirectInput: boolean
  daybreakEnabled: boolean
}

export type TurnStatus = 'inProgress' | 'completed' | 'interrupted' | 'failed'
export type ItemsView = 'notLoaded' | 'summary' | 'full'

export interface TurnError {
  message: string
  codexErrorInfo: unknown
  additionalDetails: string | null
  misalignment?: unknown
}

export interface Turn {
  id: string
  rootTurnId: string
  items: ThreadItem[]
  itemsView: ItemsView
  status: TurnStatus
  error: TurnError | null
  startedAt: number | null
  completedAt: number | null
  durationMs: number | null
}

export interface CollaborationMode {
  mode: 'plan' | 'default'
  settings: { model: string; reasoning_effort: string | null; developer_instructions: string | null }
}

/** The block that the answers to start, resume and fork carry beside the thread. */
export interface SettingsBlock {
  model: string
  modelProvider: string
  serviceTier: string | null
  cwd: string
  runtimeWorkspaceRoots: string[]
  instructionSources: string[]
  approvalPolicy: ApprovalPolicy
  approvalsReviewer: ApprovalsReviewer
  sandbox: SandboxPolicy
  activePermissionProfile: unknown
  reasoningEffort: string | null
  disabledPluginIds: string[]
  multiAgentMode: string | { custom: string }
}

/** `thread/settings/updated`. */
export interface ThreadSettings {
  cwd: string
  environments: unknown[]
  approvalPolicy: ApprovalPolicy
  approvalsReviewer: ApprovalsReviewer
  sandboxPolicy: SandboxPolicy
  activePermissionProfile: unknown
  model: string
  modelProvider: string
  serviceTier: string | null
  effort: string | null
  summary: string | null
  collaborationMode: CollaborationMode | null
  multiAgentMode: string | { custom: string }
  personality: string | null
  disabledPluginIds: string[]
}

export interface TokenUsageBreakdown {
  totalTokens: number
  inputTokens: number
  cachedInputTokens: number
  cacheWriteInputTokens: number
  outputTokens: number
  reasoningOutputTokens: number
}
export interface ThreadTokenUsage {
  total: TokenUsageBreakdown
  last: TokenUsageBreakdown
  modelContextWindow: number | null
}

export interface QueuedSubmission {
  id: string
  input: unknown[]
  clientUserMessageId: string | null
  createdAtMs: number
}
export type GoalStatus = 'active' | 'paused' | 'blocked' | 'usageLimited' | 'budgetLimited' | 'complete'
/** What a thread works towards, over any number of turns. Times in seconds. */
export interface ThreadGoal {
  threadId: string
  objective: string
  status: GoalStatus
  tokenBudget: number | null
  tokensUsed: number
  timeUsedSeconds: number
  createdAt: number
  updatedAt: number
}

export interface ReadState {
  firstUnread: { type: 'turn'; turnId: string } | null
  /** Changes with every change; a client names the one it knows. */
  revision: string
}
