/** Server notifications of app-server v2: method -> params. The connection adds `emittedAtMs`. */
import type { FileChange, ThreadItem } from './thread-item.ts'
import type {
  QueuedSubmission,
  Thread,
  ThreadGoal,
  ThreadSettings,
  ThreadStatus,
  ThreadTokenUsage,
  Turn,
  TurnError,
  ReadState,
  TokenUsageBreakdown,
} from './thread.ts'

interface OfThread {
  threadId: string
}
interface OfTurn extends OfThread {
  turnId: string
}
interface OfItem extends OfTurn {
  itemId: string
}

export interface NotificationMap {
  'thread/started': { thread: Thread }
  'thread/status/changed': OfThread & { status: ThreadStatus }
  'thread/closed': OfThread
  'thread/archived': OfThread
  'thread/unarchived': OfThread
  'thread/deleted': OfThread
  'thread/reverted': OfThread
  'thread/name/updated': OfThread & { threadName: string | null }
  'thread/settings/updated': OfThread & { threadSettings: ThreadSettings }
  'thread/tokenUsage/updated': OfTurn & { tokenUsage: ThreadTokenUsage }
  'thread/goal/updated': OfThread & { turnId: string | null; goal: ThreadGoal }
  'thread/goal/cleared': OfThread
  'thread/queue/changed': OfThread & { queuedSubmissions: QueuedSubmission[]; paused: boolean }
  'thread/readState/changed': OfThread & { readState: ReadState }
  'thread/compacted': OfTurn
  'turn/started': OfThread & { turn: Turn }
  'turn/completed': OfThread & { turn: Turn }
  'turn/diff/updated': OfTurn & { diff: string }
  'turn/plan/updated': OfTurn & {
    explanation: string | null
    plan: { step: string; status: 'pending' | 'inProgress' | 'completed' }[]
  }
  'item/started': OfTurn & { item: ThreadItem; startedAtMs: number }
  'item/completed': OfTurn & { item: ThreadItem; completedAtMs: number }
  'item/agentMessage/delta': OfItem & { delta: string }
  'item/plan/delta': OfItem & { delta: string }
  'item/reasoning/summaryPartAdded': OfItem & { summaryIndex: number }
  'item/reasoning/summaryTextDelta': OfItem & { delta: string; summaryIndex: number }
  'item/reasoning/textDelta': OfItem & { delta: string; contentIndex: number }
  'item/commandExecution/outputDelta': OfItem & { delta: string }
  'item/commandExecution/terminalInteraction': OfItem & { processId: string; stdin: string }
  'item/fileChange/outputDelta': OfItem & { delta: string }
  'item/fileChange/patchUpdated': OfItem & { changes: FileChange[] }
  'item/mcpToolCall/progress': OfItem & { message: string }
  'serverRequest/resolved': OfThread & { requestId: number }
  error: OfTurn & { error: TurnError; willRetry: boolean }
  warning: { threadId: string | null; message: string }
  configWarning: { summary: string; details: string | null; path?: string; range?: unknown }
  deprecationNotice: { summary: string; details: string | null }
  'model/rerouted': OfTurn & { fromModel: string; toModel: string; reason: string }
  'mcpServer/startupStatus/updated': {
    threadId: string | null
    name: string
    status: 'starting' | 'ready' | 'failed' | 'cancelled'
    error: string | null
    failureReason: string | null
  }
  'account/updated': { authMode: string | null; planType: string | null }
  'account/rateLimits/updated': { rateLimits: unknown }
  'remoteControl/status/changed': { status: string }
  'skills/changed': Record<string, never>
  'fs/changed': { watchId: string; changedPaths: string[] }
  'command/exec/outputDelta': {
    processId: string
    stream: 'stdout' | 'stderr'
    deltaBase64: string
    capReached: boolean
  }
  'process/outputDelta': {
    processHandle: string
    stream: 'stdout' | 'stderr'
    deltaBase64: string
    capReached: boolean
  }
  'process/exited': {
    processHandle: string
    exitCode: number
    stdout: string
    stderr: string
    stdoutCapReached: boolean
    stderrCapReached: boolean
  }
  'fuzzyFileSearch/sessionUpdated': { sessionId: string; query: string; files: unknown[] }
  'fuzzyFileSearch/sessionCompleted': { sessionId: string }
  /** These two only for threads that were started with `experimentalRawEvents`. */
  'rawResponseItem/completed': OfTurn & { item: unknown }
  'rawResponse/completed': OfTurn & { responseId: string | null; usage: TokenUsageBreakdown | null }
  'thread/realtime/started': OfThread & { realtimeSessionId: string | null; version: string }
  'thread/realtime/sdp': OfThread & { sdp: string }
  'thread/realtime/itemAdded': OfThread & { item: unknown }
  'thread/realtime/transcript/delta': OfThread & { role: string; delta: string }
  'thread/realtime/transcript/done': OfThread & { role: string; text: string }
  'thread/realtime/item/started': OfThread & { item: unknown }
  'thread/realtime/item/completed': OfThread & { item: unknown }
  'thread/realtime/item/transcript/delta': OfThread & { itemId: string; delta: string }
  'thread/realtime/outputAudio/delta': OfThread & { audio: unknown }
  'thread/realtime/error': OfThread & { message: string }
  'thread/realtime/closed': OfThread & { reason: string | null }
}
export type NotificationMethod = keyof NotificationMap

/** Sends a notification to whoever it concerns: subscribers of its thread, or everyone. */
export type Emit = <M extends NotificationMethod>(method: M, params: NotificationMap[M]) => void

/** These go to every initialized connection, not only to subscribers of the thread. */
export const FOR_EVERYONE: ReadonlySet<NotificationMethod> = new Set<NotificationMethod>([
  'thread/started',
  'thread/status/changed',
  'thread/closed',
  'thread/archived',
  'thread/unarchived',
  'thread/deleted',
  'thread/name/updated',
  'account/updated',
  'account/rateLimits/updated',
  'remoteControl/status/changed',
  'skills/changed',
])
