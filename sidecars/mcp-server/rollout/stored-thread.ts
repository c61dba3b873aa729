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

export interface HistoryBase {
  threadId: string
  endOrdinal: number
  endOffset: number
  /** The file the offset belongs to; null for foreign files: the parent's current one. */
  path: string | null
}
