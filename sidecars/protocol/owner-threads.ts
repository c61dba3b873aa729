/**
 * What the owner's window asks of Gatehouse's own sessions: methods of the app-server protocol with the
 * members it uses. The app server checks the params; the host only lets these names through.
 */
import type {
  ApprovalPolicy,
  CollaborationMode,
  SandboxPolicy,
  SettingsBlock,
  Thread,
  ThreadSettings,
  ThreadStatus,
  ThreadTokenUsage,
  Turn,
} from './app-server/thread.ts'
import type { ThreadItem } from './app-server/thread-item.ts'
import { literal } from './decode.ts'

export interface TextInput {
  type: 'text'
  text: string
}
interface Page {
  cursor?: string
  limit?: number
  sortDirection?: 'asc' | 'desc'
}
interface OfThread {
  threadId: string
}
export interface ItemEntry {
  turnId: string
  item: ThreadItem
}
export interface QueuedWords {
  id: string
  input: TextInput[]
}
export interface ConfigEdit {
  /** Dotted, with quotes where a part needs them. */
  keyPath: string
  value: unknown
  mergeStrategy: 'replace' | 'upsert'
}
export interface SettingsChange {
  model?: string
  effort?: string | null
  approvalPolicy?: ApprovalPolicy
  sandboxPolicy?: SandboxPolicy
  collaborationMode?: CollaborationMode
}
export type ReviewTarget =
  | { type: 'uncommittedChanges' }
  | { type: 'baseBranch'; branch: string }
  | { type: 'commit'; sha: string }
  | { type: 'custom'; instructions: string }
export interface ListedModel {
  id: string
  model: string
  displayName: string
  hidden: boolean
  isDefault: boolean
  supportedReasoningEfforts: { reasoningEffort: string; description: string }[]
}
export interface SessionServer {
  kind: 'own' | 'external'
  /** "Gatehouse", or what the server says of itself. */
  name: string
  /** Address or command; empty for our own. */
  address: string
  state: 'connecting' | 'ready' | 'down'
  /** Counts connections: a new one knows nothing of what was opened before. */
  life: number
  problem: string | null
}
type Opened = { thread: Thread } & SettingsBlock
type Empty = Record<string, never>

export interface OwnerThreadCalls {
  'thread/list': {
    params: Page & { archived?: boolean; searchTerm?: string; sortKey?: 'updated_at'; modelProviders?: string[] }
    result: { data: Thread[]; nextCursor: string | null }
  }
  'thread/start': {
    params: { cwd?: string; model?: string; modelProvider?: string; sandbox?: string; approvalPolicy?: ApprovalPolicy }
    result: Opened
  }
  'thread/resume': {
    params: OfThread & { excludeTurns: true }
    result: Opened & { collaborationMode?: CollaborationMode | null }
  }
  'thread/unsubscribe': { params: OfThread; result: unknown }
  'thread/turns/list': {
    params: OfThread & Page & { itemsView?: 'notLoaded' }
    result: { data: Turn[]; nextCursor: string | null }
  }
  'thread/items/list': {
    params: OfThread & Page
    result: { data: ItemEntry[]; nextCursor: string | null; backwardsCursor?: string | null }
  }
  'thread/fork': { params: OfThread & { lastTurnId?: string; excludeTurns: true }; result: Opened }
  'thread/revert': { params: OfThread & { beforeTurnId: string }; result: { thread: Thread } }
  'thread/name/set': { params: OfThread & { name: string }; result: unknown }
  'thread/archive': { params: OfThread; result: unknown }
  'thread/compact/start': { params: OfThread; result: Empty }
  'thread/shellCommand': { params: OfThread & { command: string }; result: Empty }
  'thread/queue/add': { params: OfThread & { input: TextInput[] }; result: { queuedSubmission: QueuedWords } }
  'thread/queue/list': { params: OfThread; result: { data: QueuedWords[]; paused: boolean } }
  'thread/queue/delete': { params: OfThread & { queuedSubmissionId: string }; result: Empty }
  'turn/start': { params: OfThread & { input: TextInput[] }; result: { turn: Turn } }
  'turn/steer': { params: OfThread & { input: TextInput[]; expectedTurnId: string }; result: { turnId: string } }
  'turn/settings/update': {
    params: OfThread & { turnId: string; model?: string; effort?: string }
    result: { status: 'applied' | 'targetUnavailable' }
  }
  'thread/settings/update': { params: OfThread & SettingsChange; result: Empty }
  'review/start': { params: OfThread & { target: ReviewTarget }; result: { turn: Turn; reviewThreadId: string } }
  'thread/queue/start': { params: OfThread & { queuedSubmissionId: string }; result: { turn: Turn } }
  'thread/unarchive': { params: OfThread; result: { thread: Thread } }
  'thread/delete': { params: OfThread; result: Empty }
  'model/list': { params: Empty; result: { data: ListedModel[] } }
  'turn/interrupt': { params: OfThread & { turnId: string }; result: Empty }
  'config/read': { params: Empty; result: { config: Record<string, unknown> } }
  'config/batchWrite': { params: { edits: ConfigEdit[] }; result: { filePath: string } }
  'modelProvider/list': { params: Empty; result: { data: { id: string }[] } }
  /** Our own: what is the case in a thread now: items under way with their text so far, usage, the model's plan. */
  'gatehouse/thread/open': {
    params: OfThread
    result: {
      data: (ItemEntry & { startedAtMs: number })[]
      usage: ThreadTokenUsage | null
      plan: { step: string; status: 'pending' | 'inProgress' | 'completed' }[] | null
    }
  }
  /** Our own: items whose text contains the words, oldest first. `cursor` pages `thread/items/list` from the item on. */
  'gatehouse/thread/find': {
    params: OfThread & { term: string }
    result: { data: { itemId: string; cursor: string; snippet: string }[]; isComplete: boolean }
  }
  /** Our own: where the window's sessions live. Changes are the news `gatehouse/server/changed` {server}. */
  'gatehouse/server/read': { params: Empty; result: SessionServer }
  /** Our own: asks a provider for its models, with the key that the variable holds. */
  'gatehouse/provider/check': {
    params: { baseUrl: string; envKey?: string; key?: string }
    result: { models: string[] }
  }
  /** Our own: keeps a provider's key in the keychain of the operating system, or forgets it. */
  'gatehouse/provider/key/set': { params: { providerId: string; key: string | null }; result: Empty }
}
export type OwnerThreadMethod = keyof OwnerThreadCalls

const NAMES: Record<OwnerThreadMethod, true> = {
  'thread/list': true,
  'thread/start': true,
  'thread/resume': true,
  'thread/unsubscribe': true,
  'thread/turns/list': true,
  'thread/items/list': true,
  'thread/fork': true,
  'thread/revert': true,
  'thread/name/set': true,
  'thread/archive': true,
  'thread/compact/start': true,
  'thread/shellCommand': true,
  'thread/queue/add': true,
  'thread/queue/list': true,
  'thread/queue/delete': true,
  'turn/start': true,
  'turn/steer': true,
  'turn/interrupt': true,
  'turn/settings/update': true,
  'thread/settings/update': true,
  'review/start': true,
  'thread/queue/start': true,
  'thread/unarchive': true,
  'thread/delete': true,
  'model/list': true,
  'gatehouse/thread/open': true,
  'gatehouse/thread/find': true,
  'config/read': true,
  'config/batchWrite': true,
  'modelProvider/list': true,
  'gatehouse/server/read': true,
  'gatehouse/provider/check': true,
  'gatehouse/provider/key/set': true,
}
export const ownerThreadMethod = literal(...(Object.keys(NAMES) as OwnerThreadMethod[]))
export type {
  ApprovalPolicy,
  SandboxPolicy,
  SettingsBlock,
  Thread,
  ThreadItem,
  ThreadSettings,
  ThreadStatus,
  ThreadTokenUsage,
  Turn,
}
