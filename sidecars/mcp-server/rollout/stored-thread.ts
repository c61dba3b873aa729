/** What is known of a thread without loading it; one row of the index. Times in milliseconds. */
import type { GitInfo, HistoryMode, ThreadSource } from '../../protocol/app-server/thread.ts'

export interface StoredThread {
  id: string
  sessionId: string
  path: string
  archived: boolean
  createdAtMs: number
  updatedAtMs: number
  preview: string
  name: string | null
  cwd: string
  modelProvider: string
  model: string | null
  reasoningEffort: string | null
  source: ThreadSource
  originator: string | null
  threadSource: string | null
  cliVersion: string
  historyMode: HistoryMode
  forkedFromId: string | null
  parentThreadId: string | null
  projectId: string | null
  gitInfo: GitInfo | null
  /** Records before this ordinal stand in another file (fork, revert). */
  base: HistoryBase | null
}

/** What a thread's source says when another one started it as its child agent. */
export function agentOf(source: ThreadSource): { depth: number; nickname: string | null; role: string | null } | null {
  if (typeof source === 'string' || !('subAgent' in source)) return null
  const spawn = (source.subAgent as { thread_spawn?: Record<string, unknown> } | null)?.thread_spawn
  if (!spawn) return null
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return {
    depth: typeof spawn.depth === 'number' ? spawn.depth : 1,
    nickname: text(spawn.agent_nickname),
    role: text(spawn.agent_role),
  }
}

/** The source in a `session_meta` record, where a sub-agent has another spelling. */
export function sourceOfMeta(source: unknown): ThreadSource {
  const { subagent } = (source ?? {}) as { subagent?: unknown }
  return subagent === undefined ? ((source as ThreadSource | undefined) ?? 'unknown') : { subAgent: subagent }
}

export interface HistoryBase {
  threadId: string
  endOrdinal: number
  endOffset: number
  /** The file the offset belongs to; null for foreign files: the parent's current one. */
  path: string | null
}
