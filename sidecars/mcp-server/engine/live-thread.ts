/** A loaded thread as its turns and tools see it: settings, items, questions, records. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { ServerRequestMap, ServerRequestMethod } from '../../protocol/app-server/server-requests.ts'
import type { CommandExecutionItem, ThreadItem } from '../../protocol/app-server/thread-item.ts'
import type { ThreadActiveFlag, ThreadStatus } from '../../protocol/app-server/thread.ts'
import type { ThreadLog } from '../rollout/thread-log.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import type { ActiveTurn } from './active-turn.ts'
import { storedCommandItem } from './command-item-stream.ts'
import type { ModelHistory } from './model-history.ts'
import type { TokenUsage } from './response-reader.ts'
import type { EngineServices, ModelInfo } from './services.ts'
import { Terminals } from './terminals.ts'
import { ThreadMemory, type StoredHistory } from './thread-memory.ts'
import type { AskMore, DynamicToolSpec, SessionApprovals, ThreadRuntime } from './thread-runtime.ts'
import { threadSettings, turnContextRecord, type Settings } from './thread-settings.ts'
import { ThreadStorage } from './thread-storage.ts'
import { tokenCountRecord } from './token-usage.ts'

export interface LiveThreadOptions {
  id: string
  services: EngineServices
  settings: Settings
  /** Null for an ephemeral thread. */
  log: ThreadLog | null
  /** Called once, when the history is first needed. */
  history: () => Promise<StoredHistory>
  dynamicTools: readonly DynamicToolSpec[]
  /** Clients hear of every item of the model's history, too. */
  rawEvents: boolean
}

/** Owned by the thread's session. */
export class LiveThread implements ThreadRuntime {
  readonly id: string
  readonly services: EngineServices
  readonly emit: Emit
  readonly memory: ThreadMemory
  readonly storage: ThreadStorage
  readonly terminals: Terminals
  readonly dynamicTools: readonly DynamicToolSpec[]
  readonly approvals: SessionApprovals = {
    commands: new Set(),
    files: new Set(),
    mcpTools: new Set(),
    writeRoots: new Set(),
    network: false,
  }
  settings: Settings
  active: ActiveTurn | null = null
  private readonly flags: ThreadActiveFlag[] = []

  constructor(private readonly options: LiveThreadOptions) {
    this.id = options.id
    this.services = options.services
    this.emit = options.services.emit
    this.settings = options.settings
    this.memory = new ThreadMemory(options.history)
    this.storage = new ThreadStorage(options.log, (message) => this.warn(message))
    this.terminals = new Terminals(options.services.exec)
    this.dynamicTools = options.dynamicTools
  }

  get history(): ModelHistory {
    return this.memory.history
  }

  /** Clients are told of every item of the history. */
  get tellsRawEvents(): boolean {
    return this.options.rawEvents
  }

  get status(): ThreadStatus {
    return this.active ? { type: 'active', activeFlags: [...new Set(this.flags)] } : { type: 'idle' }
  }

  announceStatus(): void {
    this.emit('thread/status/changed', { threadId: this.id, status: this.status })
  }

  /** Nothing of the turn counts any more. */
  forget(turn: ActiveTurn): void {
    if (this.active === turn) this.active = null
    this.flags.length = 0
  }

  applySettings(settings: Settings): void {
    if (settings === this.settings) return
    this.settings = settings
    this.recordEvent({
      type: 'thread_settings_applied',
      thread_id: this.id,
      thread_settings: turnContextRecord('', settings),
    })
    this.emit('thread/settings/updated', { threadId: this.id, threadSettings: threadSettings(settings) })
  }

  beginItem(turnId: string, item: ThreadItem): number {
    const startedAtMs = this.services.nowMs()
    this.emit('item/started', { item, threadId: this.id, turnId, startedAtMs })
    return startedAtMs
  }

  finishItem(turnId: string, item: ThreadItem, startedAtMs: number): void {
    const completedAtMs = this.services.nowMs()
    const stored = item.type === 'commandExecution' ? storedCommandItem(item as CommandExecutionItem) : item
    this.recordEvent({
      type: 'item_completed',
      thread_id: this.id,
      turn_id: turnId,
      // With its times, as clients get it: a long thread is answered without taking its items apart.
      item: { ...stored, startedAtMs, completedAtMs },
      started_at_ms: startedAtMs,
      completed_at_ms: completedAtMs,
    })
    // Whoever is told of it finds it again, also when this process is killed now.
    this.storage.write()
    this.emit('item/completed', { item, threadId: this.id, turnId, completedAtMs })
    // A background terminal that ended between turns: no end of a turn is going to index it.
    if (!this.active) void this.storage.persist()
  }

  record(...items: ResponseItem[]): void {
    this.history.add(...items)
    const turnId = this.tellsRawEvents ? this.active?.id : undefined
    for (const item of items) {
      this.storage.append('response_item', item)
      if (turnId !== undefined) this.emit('rawResponseItem/completed', { threadId: this.id, turnId, item })
    }
  }

  recordEvent(event: Record<string, unknown>): void {
    this.storage.append('event_msg', event)
  }

  recordCompaction(message: string, history: readonly ResponseItem[]): void {
    this.storage.append('compacted', { message, replacement_history: history })
  }

  countUsage(turn: ActiveTurn, usage: TokenUsage, model: ModelInfo): void {
    const tokenUsage = this.memory.count(usage, model)
    this.recordEvent(tokenCountRecord(tokenUsage))
    this.emit('thread/tokenUsage/updated', { threadId: this.id, turnId: turn.id, tokenUsage })
  }

  async ask<M extends ServerRequestMethod>(
    method: M,
    params: ServerRequestMap[M]['params'],
    signal: AbortSignal,
    flag: ThreadActiveFlag,
    { announce, subject, refused }: AskMore = {},
  ): Promise<ServerRequestMap[M]['answer']> {
    this.flags.push(flag)
    this.announceStatus()
    announce?.()
    try {
      return await this.services.requests.ask(method, params, {
        threadId: this.id,
        signal,
        ...(this.active && { turnEnds: this.active.done }),
        ...(subject && { subject }),
        ...(refused !== undefined && { refused }),
      })
    } finally {
      this.flags.splice(this.flags.indexOf(flag), 1)
      // A turn that is over has announced its own end.
      if (this.active && !this.active.aborted) this.announceStatus()
    }
  }

  warn(message: string): void {
    this.emit('warning', { threadId: this.id, message })
  }
}
