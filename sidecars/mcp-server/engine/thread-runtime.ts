/** The part of a thread that turns and tools work with. Implemented by LiveThread. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { ServerRequestMap, ServerRequestMethod } from '../../protocol/app-server/server-requests.ts'
import type { ThreadActiveFlag } from '../../protocol/app-server/thread.ts'
import type { Subject } from '../../protocol/subject.ts'
import type { ThreadItem } from '../../protocol/app-server/thread-item.ts'
import type { ModelHistory } from './model-history.ts'
import type { EngineServices } from './services.ts'
import type { Terminals } from './terminals.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'

/** Remembered for the thread's life; never on disk. */
export interface SessionApprovals {
  /** Keys of `sessionKey`. */
  commands: Set<string>
  /** Real paths of files. */
  files: Set<string>
  /** `server tool`. */
  mcpTools: Set<string>
  writeRoots: Set<string>
  network: boolean
}

export interface AskMore {
  /** Runs between the change of status and the question. */
  announce?: () => void
  /** Exactly what is done on a yes. */
  subject?: Subject
  /** Last words of the same command when its sandbox refused it. */
  refused?: string
}

export interface ThreadRuntime {
  readonly id: string
  readonly services: EngineServices
  readonly emit: Emit
  readonly history: ModelHistory
  readonly terminals: Terminals
  readonly approvals: SessionApprovals
  readonly dynamicTools: readonly DynamicToolSpec[]

  /** Announces an item; returns its start time. */
  beginItem(turnId: string, item: ThreadItem): number
  /** Records and announces an item's end. */
  finishItem(turnId: string, item: ThreadItem, startedAtMs: number): void
  /** Adds to the model's history and the rollout. */
  record(...items: ResponseItem[]): void
  /** Stores that the history was replaced. */
  recordCompaction(message: string, history: readonly ResponseItem[]): void
  /** Other records of the rollout. */
  recordEvent(event: Record<string, unknown>): void
  /**
   * Asks the clients. While it waits the thread's status carries `flag`.
   */
  ask<M extends ServerRequestMethod>(
    method: M,
    params: ServerRequestMap[M]['params'],
    signal: AbortSignal,
    flag: ThreadActiveFlag,
    more?: AskMore,
  ): Promise<ServerRequestMap[M]['answer']>
  warn(message: string): void
}

export interface DynamicToolSpec {
  namespace: string | null
  name: string
  description: string
  inputSchema: unknown
  deferLoading: boolean
}
