/** Loaded threads: started, resumed, forked, unloaded. */
import type { Thread, ThreadStatus } from '../../protocol/app-server/thread.ts'
import { readThread } from '../rollout/read-thread.ts'
import { agentOf, type StoredThread } from '../rollout/stored-thread.ts'
import { ThreadMissing, type ThreadStore } from '../rollout/thread-store.ts'
import type { TurnProjection } from '../rollout/turn-projection.ts'
import { repairHistory } from '../rollout/repair-history.ts'
import { DEFAULT_INSTRUCTIONS } from '../engine/prompt.ts'
import type { EngineServices } from '../engine/services.ts'
import type { DynamicToolSpec } from '../engine/thread-runtime.ts'
import { settingsOfRecord, withOverrides, type Settings, type SettingsOverrides } from '../engine/thread-settings.ts'
import { ThreadSession, type SuspendOutcome } from '../engine/thread-session.ts'
import type { StoredHistory } from '../engine/thread-memory.ts'
import type { ThreadLog } from '../rollout/thread-log.ts'
import type { TraceSubmission } from '../engine/submissions.ts'
import { usageOfRecord } from '../engine/token-usage.ts'
import { uuid7 } from '../engine/uuid7.ts'
import type { LiveConfig } from './live-config.ts'
import { extrasOf, type ThreadExtras } from './thread-extras.ts'
import type { RecordPayload } from '../rollout/rollout-record.ts'
import { settledTurns, threadView } from './thread-view.ts'
import { invalidRequest } from './wire-error.ts'

/** A thread with no subscriber and nothing to do is let go after this long (`thread_unload_delay_secs`). */
const UNLOAD_DELAY_MS = 60_000
/** A thread that does not shut down in this time is forgotten. */
const SHUTDOWN_LIMIT_MS = 10_000

export interface LoadedThread {
  session: ThreadSession
  /** What it was started with; child agents are, too. */
  basis: ThreadBasis
  stored: StoredThread
  ephemeral: boolean
  liveConfig: LiveConfig
  unloadTimer: NodeJS.Timeout | null
  extras: ThreadExtras
}

/** What threads of one client and configuration have in common. */
export interface ThreadBasis {
  originator: string
  baseInstructions: string | null
  developerInstructions: string | null
  compactPrompt: string | null
  dynamicTools: DynamicToolSpec[]
  rawEvents: boolean
  services: EngineServices
  liveConfig: LiveConfig
}
export interface StartOptions extends ThreadBasis {
  settings: Settings
  threadSource: string | null
  historyMode: 'legacy' | 'paginated'
  ephemeral: boolean
  /** Of a child agent. */
  agent?: { parentId: string; sessionId: string; depth: number; nickname: string }
}

export interface ThreadManagerOptions {
  store: ThreadStore
  version: string
  nowMs: () => number
  trace: TraceSubmission | null
  hasSubscribers: (threadId: string) => boolean
  onEnding: (threadId: string, turnId: string) => void
  onIdle: (thread: LoadedThread, last: 'completed' | 'interrupted' | 'failed') => void
  onLoaded: (thread: LoadedThread) => void
  onUnloaded: (threadId: string) => void
  announce: (method: 'thread/closed', threadId: string) => void
}

/** Owned by the server. */
export class ThreadManager {
  private readonly loaded = new Map<string, LoadedThread>()

  constructor(private readonly options: ThreadManagerOptions) {}

  get(threadId: string): LoadedThread | undefined {
    return this.loaded.get(threadId)
  }

  /** @throws WireError "thread not found" */
  need(threadId: string): LoadedThread {
    const thread = this.loaded.get(threadId)
    if (!thread) throw invalidRequest(`thread not found: ${threadId}`)
    return thread
  }

  ids(): string[] {
    return [...this.loaded.keys()]
  }

  all(): Iterable<LoadedThread> {
    return this.loaded.values()
  }

  start(options: StartOptions): LoadedThread {
    const id = uuid7(this.options.nowMs())
    const meta = this.metaOf(id, options)
    const log = options.ephemeral ? null : this.options.store.create(meta)
    const stored = log?.thread ?? this.ephemeralThread(id, options)
    return this.load(stored, options, log, () => Promise.resolve({ items: [], usage: null }))
  }

  /** Loads a thread from disk, or gives the one that is loaded already. */
  async resume(
    threadId: string,
    overrides: SettingsOverrides,
    options: ThreadBasis & { defaults: Settings },
  ): Promise<LoadedThread> {
    const known = this.loaded.get(threadId)
    if (known) return known
    const { log, turnContext } = await this.options.store.open(threadId).catch((error: unknown) => {
      throw error instanceof ThreadMissing ? invalidRequest(error.message) : error
    })
    const stored = turnContext ? withOverrides(options.defaults, settingsOfRecord(turnContext)) : options.defaults
    const settings = withOverrides(stored, overrides)
    return this.load(
      log.thread,
      {
        ...options,
        settings,
        ephemeral: false,
        historyMode: log.thread.historyMode,
        threadSource: log.thread.threadSource,
      },
      log,
      () => this.storedHistory(log),
      this.options.store.extras(threadId),
    )
  }

  /**
   * A new thread that begins with the turns of another up to a boundary. The other is left alone; its
   * records are read through, not copied.
   */
  async fork(
    source: StoredThread,
    boundary: { lastTurnId?: string; beforeTurnId?: string },
    overrides: SettingsOverrides,
    options: Omit<StartOptions, 'settings'> & { defaults: Settings },
  ): Promise<{ thread: LoadedThread; projection: TurnProjection }> {
    await this.loaded.get(source.id)?.session.persist()
    const { projection: whole } = await this.options.store.read(source, 'turns')
    const endOrdinal = cutOrdinal(whole, boundary)
    const id = uuid7(this.options.nowMs())
    const base = { thread_id: source.id, end_ordinal_exclusive: endOrdinal, end_byte_offset: 0 }
    const probe: StoredThread = {
      ...source,
      id,
      base: { threadId: source.id, endOrdinal, endOffset: 0, path: null },
      path: '/dev/null',
    }
    const { projection } = await readThread(probe, () => Promise.resolve(source.path))
    projection.closeOpenTurns()
    const context = projection.turnContext ? settingsOfRecord(projection.turnContext) : {}
    const settings = withOverrides(withOverrides(options.defaults, context), overrides)
    const meta = { ...this.metaOf(id, { ...options, settings }), forked_from_id: source.id, history_base: base }
    const log = options.ephemeral ? null : this.options.store.create(meta)
    if (log) log.thread.preview = source.preview
    const stored = log?.thread ?? {
      ...this.ephemeralThread(id, { ...options, settings }),
      forkedFromId: source.id,
      preview: source.preview,
    }
    const thread = this.load(stored, { ...options, settings }, log, () =>
      Promise.resolve({
        items: repairHistory(projection.history).history,
        usage: usageOfRecord(projection.tokenUsage),
      }),
    )
    // A fork can be listed and read at once.
    await log?.flush(true)
    return { thread, projection }
  }

  /** The model's history from disk, made whole after a crash; what was missing is stored, once. */
  private async storedHistory(log: ThreadLog): Promise<StoredHistory> {
    const { projection } = await this.options.store.read(log.thread, 'history')
    const { history, added } = repairHistory(projection.history)
    for (const item of added) log.append('response_item', item)
    return { items: history, usage: usageOfRecord(projection.tokenUsage) }
  }

  view(thread: LoadedThread, turns: Thread['turns'] = []): Thread {
    const view = threadView(
      thread.stored,
      thread.session.status,
      settledTurns(turns, thread.session.activeTurn?.id ?? null),
      thread.ephemeral,
    )
    return {
      ...view,
      cwd: thread.session.settings.cwd,
      model: thread.session.settings.model,
      reasoningEffort: thread.session.settings.effort,
    }
  }

  statusOf(threadId: string): ThreadStatus {
    return this.loaded.get(threadId)?.session.status ?? { type: 'notLoaded' }
  }

  /** Child agents of a thread that are open. */
  children(threadId: string): LoadedThread[] {
    return [...this.loaded.values()].filter(({ stored }) => stored.parentThreadId === threadId)
  }

  /** Like `unload`, and tells it. */
  async close(threadId: string): Promise<void> {
    await this.unload(threadId)
    this.options.announce('thread/closed', threadId)
  }

  /** Ends a thread and its child agents and lets go of them, in at most ten seconds each. */
  async unload(threadId: string): Promise<void> {
    const thread = this.loaded.get(threadId)
    if (!thread) return
    await Promise.all(this.children(threadId).map(({ session }) => this.close(session.id)))
    this.cancelUnload(thread)
    this.loaded.delete(threadId)
    await Promise.race([
      thread.session.shutdown(),
      new Promise((resolve) => setTimeout(resolve, SHUTDOWN_LIMIT_MS).unref()),
    ])
    this.options.onUnloaded(threadId)
  }

  /** Leaves a thread's running turn to another process and lets go of the thread. */
  async suspend(threadId: string): Promise<SuspendOutcome> {
    const thread = this.need(threadId)
    // Its parent would wait for it for ever.
    if (agentOf(thread.stored.source)) return { type: 'unsupportedTask', turnKind: 'regular' }
    if (this.children(threadId).length > 0) return { type: 'hasLiveDescendants' }
    const outcome = await thread.session.suspend()
    if (outcome.type === 'suspended') {
      this.cancelUnload(thread)
      this.loaded.delete(threadId)
      this.options.onUnloaded(threadId)
      this.options.announce('thread/closed', threadId)
    }
    return outcome
  }

  /** Starts the clock when nobody watches an idle thread any more. Child agents stay as long as their parent. */
  considerUnload(threadId: string): void {
    const thread = this.loaded.get(threadId)
    if (!thread) return
    const { parentThreadId } = thread.stored
    if (parentThreadId !== null && this.loaded.has(parentThreadId)) return this.considerUnload(parentThreadId)
    if (this.isNeeded(thread)) return
    this.cancelUnload(thread)
    thread.unloadTimer = setTimeout(() => {
      if (this.isNeeded(thread)) return
      void this.close(threadId)
    }, unloadDelayMs(thread.liveConfig))
    thread.unloadTimer.unref()
  }

  private isNeeded({ session }: LoadedThread): boolean {
    if (session.activeTurn || this.options.hasSubscribers(session.id)) return true
    return this.children(session.id).some((child) => this.isNeeded(child))
  }

  cancelUnload(thread: LoadedThread): void {
    if (thread.unloadTimer) clearTimeout(thread.unloadTimer)
    thread.unloadTimer = null
  }

  async shutdown(): Promise<void> {
    await Promise.allSettled(this.ids().map((id) => this.unload(id)))
  }

  private load(
    stored: StoredThread,
    options: StartOptions,
    log: ThreadSession['log'],
    history: () => Promise<StoredHistory>,
    extras: RecordPayload | null = null,
  ): LoadedThread {
    const session = new ThreadSession({
      id: stored.id,
      services: options.services,
      settings: options.settings,
      log,
      history,
      baseInstructions: options.baseInstructions ?? DEFAULT_INSTRUCTIONS,
      developerInstructions: options.developerInstructions,
      compactPrompt: options.compactPrompt,
      dynamicTools: options.dynamicTools,
      rawEvents: options.rawEvents,
      trace: this.options.trace,
      onEnding: (turnId) => this.options.onEnding(stored.id, turnId),
      onIdle: (last) => {
        this.options.onIdle(thread, last)
        this.considerUnload(stored.id)
      },
    })
    const thread: LoadedThread = {
      session,
      basis: options,
      stored,
      ephemeral: options.ephemeral,
      liveConfig: options.liveConfig,
      unloadTimer: null,
      extras: extrasOf(extras),
    }
    this.loaded.set(stored.id, thread)
    this.options.onLoaded(thread)
    return thread
  }

  private metaOf(
    id: string,
    options: Omit<StartOptions, 'services' | 'liveConfig'>,
  ): Record<string, unknown> & { id: string } {
    const { agent } = options
    return {
      id,
      session_id: agent?.sessionId ?? id,
      ...(agent && { parent_thread_id: agent.parentId, agent_nickname: agent.nickname }),
      timestamp: new Date(this.options.nowMs()).toISOString(),
      cwd: options.settings.cwd,
      runtime_workspace_roots: options.settings.workspaceRoots,
      originator: options.originator,
      cli_version: this.options.version,
      source: agent ? { subagent: spawnOf(agent) } : 'vscode',
      thread_source: options.threadSource,
      model_provider: options.settings.modelProvider,
      history_mode: options.historyMode,
      base_instructions: { text: options.baseInstructions ?? DEFAULT_INSTRUCTIONS },
    }
  }

  private ephemeralThread(id: string, options: Omit<StartOptions, 'services' | 'liveConfig'>): StoredThread {
    const now = this.options.nowMs()
    const { agent } = options
    return {
      id,
      sessionId: agent?.sessionId ?? id,
      path: '',
      archived: false,
      createdAtMs: now,
      updatedAtMs: now,
      preview: '',
      name: null,
      cwd: options.settings.cwd,
      modelProvider: options.settings.modelProvider,
      model: options.settings.model,
      reasoningEffort: options.settings.effort,
      source: agent ? { subAgent: spawnOf(agent) } : 'vscode',
      originator: options.originator,
      threadSource: options.threadSource,
      cliVersion: this.options.version,
      historyMode: options.historyMode,
      forkedFromId: null,
      parentThreadId: agent?.parentId ?? null,
      projectId: null,
      gitInfo: null,
      base: null,
    }
  }
}

/** How the source of a child agent's thread tells where it comes from. */
const spawnOf = ({ parentId, depth, nickname }: NonNullable<StartOptions['agent']>) => ({
  thread_spawn: {
    parent_thread_id: parentId,
    depth,
    agent_path: null,
    agent_nickname: nickname,
    agent_role: null,
  },
})

/** The first ordinal that a fork leaves out. @throws WireError for a turn that is not there */
function cutOrdinal(projection: TurnProjection, boundary: { lastTurnId?: string; beforeTurnId?: string }): number {
  if (boundary.beforeTurnId !== undefined) {
    const at = projection.turns.findIndex((turn) => turn.id === boundary.beforeTurnId)
    if (at === -1) throw invalidRequest(`turn not found: ${boundary.beforeTurnId}`)
    return projection.startOrdinal(boundary.beforeTurnId)!
  }
  if (boundary.lastTurnId === undefined) return projection.endOrdinal
  const at = projection.turns.findIndex((turn) => turn.id === boundary.lastTurnId)
  if (at === -1) throw invalidRequest(`turn not found: ${boundary.lastTurnId}`)
  const next = projection.turns[at + 1]
  return next ? projection.startOrdinal(next.id)! : projection.endOrdinal
}

function unloadDelayMs({ current }: LiveConfig): number {
  const seconds = current.thread_unload_delay_secs
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : UNLOAD_DELAY_MS
}
