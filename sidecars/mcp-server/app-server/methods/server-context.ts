/** What the methods work with. */
import type { Emit } from '../../../protocol/app-server/notifications.ts'
import type { ChildAgents } from '../../engine/child-agents.ts'
import type { EngineServices } from '../../engine/services.ts'
import type { Settings } from '../../engine/thread-settings.ts'
import type { ProviderSecrets } from '../../model/provider-secrets.ts'
import type { ThreadStore } from '../../rollout/thread-store.ts'
import type { PendingRequests } from '../client-requests.ts'
import type { ConfigFile, ConfigTable } from '../config-file.ts'
import type { AppConnection } from '../connection.ts'
import type { GoalKeeper } from '../goal-keeper.ts'
import type { LiveConfig } from '../live-config.ts'
import type { McpConnections } from '../mcp-connections.ts'
import type { Thread } from '../../../protocol/app-server/thread.ts'
import type { StoredThread } from '../../rollout/stored-thread.ts'
import type { ThreadKeeper } from '../thread-keeper.ts'
import type { ReadStates } from '../read-states.ts'
import type { ThreadManager } from '../thread-manager.ts'

export interface ServerContext {
  home: string
  version: string
  store: ThreadStore
  threads: ThreadManager
  requests: PendingRequests
  configFile: ConfigFile
  mcp: McpConnections
  agents: ChildAgents
  goals: GoalKeeper
  readStates: ReadStates
  keeper: ThreadKeeper
  /** A thread as lists show it, loaded or not. */
  viewStored: (stored: StoredThread) => Thread
  emit: Emit
  secrets: ProviderSecrets
  nowMs: () => number
  /** Services of one thread: its provider table comes from its own configuration. */
  servicesFor: (config: LiveConfig, originator: string) => EngineServices
  defaultSettings: (config: ConfigTable, cwd: string) => Settings
  subscribe: (connection: AppConnection, threadId: string) => void
  unsubscribe: (connection: AppConnection, threadId: string) => boolean
}
