/** What the engine needs from the rest of the house. Everything here is owned by the server. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { ClientRequests } from '../../protocol/app-server/server-requests.ts'
import type { SandboxObject } from '../../protocol/exec-sandbox.ts'
import type { ExecProcess, ExecStart } from '../../exec-server/client/index.ts'
import type { ModelProvider } from '../model/provider.ts'
import type { ResponsesClient } from '../model/responses-client.ts'
import type { ThreadStore } from '../rollout/thread-store.ts'
import type { ThreadGoals } from './thread-goal.ts'
import type { Settings } from './thread-settings.ts'
import type { ChildAgents } from './child-agents.ts'
import type { McpTools } from './mcp-tools.ts'

/** What the rules say of a command line; the strictest of all programs it could run. */
export interface CommandVerdict {
  verdict: 'allow' | 'ask' | 'deny' | 'none'
  /** Why, for people and the model. */
  reason: string | null
  /** All its programs only read and are known not to harm. */
  knownSafe: boolean
  /** It could destroy something; asked about even where ordinary commands are not. */
  dangerous: boolean
  /** The argv prefix that a rule for it would have; null when none may be proposed. */
  proposedPrefix: string[] | null
}
export interface CommandRules {
  judge(argv: readonly string[], cwd: string): Promise<CommandVerdict>
  /** Whether a rule may have this prefix and would let the whole command through. */
  acceptsPrefix(prefix: readonly string[], argv: readonly string[], cwd: string): Promise<boolean>
  /** Adds an allow rule, in force at once and kept. Rejects with why it could not be kept. */
  addPrefix(prefix: readonly string[]): Promise<void>
}

/** Where a sandbox lets a command or patch write. */
export interface SandboxRoots {
  /** Absolute real paths below which writing is allowed; null = everywhere. */
  writable: string[] | null
  /** Below a writable root and still read-only, e.g. `.git`. */
  protected: string[]
}

export interface ModelInfo {
  slug: string
  contextWindow: number
  /** Tokens at which history is compacted before the next request. */
  autoCompactTokens: number
  reasoning: boolean
  defaultEffort: string | null
  defaultVerbosity: string | null
  parallelToolCalls: boolean
  applyPatch: boolean
}

/** What the engine needs of the exec server. */
export interface CommandStarter {
  /** `isApproved`: a person said yes to exactly this command, or typed it. Rejects as ExecClient.start does. */
  start(command: ExecStart, options?: { signal?: AbortSignal; isApproved?: boolean }): Promise<ExecProcess>
}

export interface EngineServices {
  emit: Emit
  requests: ClientRequests
  store: ThreadStore
  responses: ResponsesClient
  /** Connects when first used. */
  exec: () => CommandStarter
  rules: CommandRules
  mcp: McpTools
  agents: ChildAgents
  goals: ThreadGoals
  provider: (settings: Settings) => ModelProvider
  modelInfo: (slug: string) => ModelInfo
  sandboxObject: (settings: Settings) => SandboxObject | null
  sandboxRoots: (settings: Settings) => Promise<SandboxRoots>
  /** Name of the client that started the thread, sent to the model server. */
  originator: string
  version: string
  shell: { path: string; name: string }
  nowMs: () => number
}
