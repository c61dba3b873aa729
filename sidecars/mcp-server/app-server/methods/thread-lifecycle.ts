/** What the `thread/*` methods do with threads. */
import { array, boolean, nullable, object, string, unknown, withDefault } from '../../../protocol/decode.ts'
import type { TurnText } from '../../rollout/read-turn-texts.ts'
import type { DynamicToolSpec } from '../../engine/thread-runtime.ts'
import { settingsBlock, type SettingsOverrides } from '../../engine/thread-settings.ts'
import { usageOfRecord } from '../../engine/token-usage.ts'
import type { StoredThread } from '../../rollout/stored-thread.ts'
import type { ResponseItem } from '../../rollout/turn-projection.ts'
import { tableOfOverrides, type ConfigTable } from '../config-file.ts'
import { LiveConfig } from '../live-config.ts'
import { type MethodCall } from '../method-table.ts'
import type { LoadedThread } from '../thread-manager.ts'
import { defaultCwd, namedSandbox, overridesOf } from '../thread-settings-source.ts'
import { turnsText } from '../thread-view.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'
import { refusals } from './turn-refusals.ts'

const DEFAULT_PAGE = 25
const MAX_PAGE = 100
/** Interactive ones, when a client names none. */
const DEFAULT_SOURCES = ['cli', 'vscode']

export type Loose = Record<string, unknown>
type Asked = Loose & { threadId: string }

/** Page sizes are bounded, whatever a client asks for. */
export const limitOf = (limit: number | undefined): number => Math.min(limit ?? DEFAULT_PAGE, MAX_PAGE)

/** Starts, opens, branches and lists threads for the methods. */
export class ThreadLifecycle {
  constructor(private readonly context: ServerContext) {}

  async start(params: Loose, { connection, after }: MethodCall): Promise<unknown> {
    const { config, common } = await this.common(params, connection.client!.name)
    const settings = this.settings(config, params)
    const thread = this.context.threads.start({
      ...common,
      settings,
      ephemeral: params.ephemeral === true,
      historyMode: params.historyMode === 'legacy' ? 'legacy' : 'paginated',
      threadSource: typeof params.threadSource === 'string' ? params.threadSource : null,
    })
    this.context.mcp.prepare(thread.session.id, config)
    this.context.subscribe(connection, thread.session.id)
    const view = this.context.threads.view(thread)
    after(() => this.context.emit('thread/started', { thread: view }))
    return { thread: view, ...settingsBlock(thread.session.settings, []) }
  }

  async resume(asked: Asked, call: MethodCall): Promise<unknown> {
    const { connection, after } = call
    const { threads, store } = this.context
    const { history } = asked
    if (Array.isArray(history)) return this.startFrom(history as ResponseItem[], asked, call)
    const params: Asked = { ...asked, threadId: await this.idOf(asked) }
    const { config, common } = await this.common(params, connection.client!.name)
    const row = await store.find(params.threadId)
    const defaults = this.context.defaultSettings(config, row?.thread.cwd ?? defaultCwd())
    const thread = await threads.resume(params.threadId, this.overrides(config, params), { ...common, defaults })
    threads.cancelUnload(thread)
    this.context.mcp.prepare(params.threadId, config)
    this.context.subscribe(connection, params.threadId)
    const agents = this.openAgents(params.threadId)
    for (const id of agents) this.context.subscribe(connection, id)
    const turns = params.excludeTurns === true ? [] : await this.turnsOf(thread.stored)
    const view = this.view(thread.stored, turns)
    if (thread.session.usage && turns.length > 0)
      after(() =>
        connection.notify('thread/tokenUsage/updated', {
          threadId: params.threadId,
          turnId: turns.at(-1)!.turn.id,
          tokenUsage: thread.session.usage,
        }),
      )
    const { goal } = thread.extras
    after(() => {
      if (goal) connection.notify('thread/goal/updated', { threadId: params.threadId, turnId: null, goal })
      else connection.notify('thread/goal/cleared', { threadId: params.threadId })
      for (const id of [params.threadId, ...agents]) this.context.requests.replay(id, connection)
    })
    return {
      thread: view,
      ...settingsBlock(thread.session.settings, []),
      collaborationMode: thread.session.settings.collaborationMode,
      ...(await this.firstPage(thread, params)),
    }
  }

  /** A thread that begins with what a client remembers; on disk at once. */
  private async startFrom(history: ResponseItem[], params: Loose, call: MethodCall): Promise<unknown> {
    const started = (await this.start(params, call)) as { thread: { id: string } }
    await this.context.threads.need(started.thread.id).session.inject(history)
    return {
      ...started,
      collaborationMode: null,
      initialTurnsPage: null,
      turnsBackwardsCursor: null,
      itemsBackwardsCursor: null,
    }
  }

  /** The id a request means: a path counts before the id, unless the thread is loaded. @throws WireError */
  private async idOf({ threadId, path }: Asked): Promise<string> {
    if (typeof path !== 'string' || path === '') return threadId
    const loaded = this.context.threads.get(threadId)
    if (loaded && loaded.stored.path !== path)
      throw invalidRequest(`path: the thread ${threadId} is loaded from ${loaded.stored.path}; leave the path out`)
    if (loaded) return threadId
    const found = await this.context.store.findByPath(path).catch(() => null)
    if (!found) throw invalidRequest(`path: no rollout found at ${path}`)
    return found.thread.id
  }

  /** Ids of the open child agents of a thread, and of theirs. */
  private openAgents(threadId: string): string[] {
    return this.context.threads
      .children(threadId)
      .flatMap(({ session }) => [session.id, ...this.openAgents(session.id)])
  }

  async fork(asked: Asked, { connection, after }: MethodCall): Promise<unknown> {
    const params: Asked = { ...asked, threadId: await this.idOf(asked) }
    const { config, common } = await this.common(params, connection.client!.name)
    const source = await this.stored(params.threadId)
    const defaults = this.context.defaultSettings(config, source.cwd)
    const text = (name: string): string | undefined =>
      typeof params[name] === 'string' ? (params[name] as string) : undefined
    const { thread, projection } = await this.context.threads.fork(
      source,
      { lastTurnId: text('lastTurnId'), beforeTurnId: text('beforeTurnId') },
      this.overrides(config, params),
      {
        ...common,
        defaults,
        ephemeral: params.ephemeral === true,
        historyMode: source.historyMode,
        threadSource: text('threadSource') ?? null,
      },
    )
    this.context.mcp.prepare(thread.session.id, config)
    this.context.subscribe(connection, thread.session.id)
    const view = this.context.threads.view(thread, params.excludeTurns === true ? [] : projection.turns)
    after(() => this.context.emit('thread/started', { thread: { ...view, turns: [] } }))
    return { thread: view, ...settingsBlock(thread.session.settings, []) }
  }

  /** Drops a turn and everything after it; the files in the workspace stay as they are. */
  async revert(
    { threadId, beforeTurnId }: { threadId: string; beforeTurnId: string },
    { after }: MethodCall,
  ): Promise<unknown> {
    const thread = this.context.threads.need(threadId)
    const { projection } = await this.context.store.read(thread.stored, 'turns')
    if (!projection.turns.some((turn) => turn.id === beforeTurnId))
      throw invalidRequest(`turn not found: ${beforeTurnId}`)
    await this.takeBack(thread, { type: 'thread_reverted', before_turn_id: beforeTurnId })
    after(() => this.context.emit('thread/reverted', { threadId }))
    return { thread: this.context.threads.view(thread), ...(await this.firstPage(thread, {})) }
  }

  async rollback(threadId: string, numTurns: number): Promise<unknown> {
    const thread = this.context.threads.need(threadId)
    await this.takeBack(thread, { type: 'thread_rolled_back', num_turns: numTurns })
    return { thread: this.view(thread.stored, await this.turnsOf(thread.stored)) }
  }

  private async takeBack(thread: LoadedThread, marker: Record<string, unknown>): Promise<void> {
    const { log } = thread.session
    if (!log?.materialized) throw invalidRequest(`thread ${thread.session.id} has no stored history to go back in`)
    const store = async () => {
      // From disk, never from memory: the stored history is what a later resume will see.
      log.append('event_msg', marker)
      await log.flush(true)
      const { projection } = await this.context.store.read(thread.stored, 'history')
      return {
        items: projection.history,
        usage: usageOfRecord(projection.tokenUsage),
      }
    }
    await refusals(thread.session.replaceHistory(store))
  }

  async list(params: {
    cursor?: string
    limit?: number
    sortDirection?: 'asc' | 'desc'
    sortKey?: string
    modelProviders?: string[]
    sourceKinds?: string[]
    archived?: boolean
    cwd?: unknown
    searchTerm?: string
    parentThreadId?: string
    ancestorThreadId?: string
    sectionId?: string
    originators?: string[]
    projectId?: string
    includedThreadIds?: string[]
    excludedThreadIds?: string[]
  }): Promise<unknown> {
    // There are no sections here, so none of their threads either.
    if (params.sortKey === 'section_position' || params.sectionId !== undefined)
      return { data: [], readStates: {}, nextCursor: null, backwardsCursor: null }
    const providers = params.modelProviders ?? [await this.defaultProvider()]
    const isOfAgents = params.parentThreadId !== undefined || params.ancestorThreadId !== undefined
    const namedSources = params.sourceKinds && params.sourceKinds.length > 0 ? params.sourceKinds : null
    const cwds =
      typeof params.cwd === 'string' ? [params.cwd] : Array.isArray(params.cwd) ? (params.cwd as string[]) : null
    const found = await this.context.store.list(
      {
        archived: params.archived === true,
        sort: params.sortKey === 'updated_at' || params.sortKey === 'recency_at' ? 'updated_at' : 'created_at',
        descending: params.sortDirection !== 'asc',
        limit: limitOf(params.limit),
        modelProviders: providers.length === 0 ? null : providers,
        // Child agents are never interactive; who asks for them means them.
        sources: namedSources ?? (isOfAgents ? null : DEFAULT_SOURCES),
        cwds,
        searchTerm: params.searchTerm ?? null,
        parentId: params.parentThreadId ?? null,
        ancestorId: params.ancestorThreadId ?? null,
        originators: params.originators && params.originators.length > 0 ? params.originators : null,
        projectId: params.projectId ?? null,
        includedIds: params.includedThreadIds ?? null,
        excludedIds: params.excludedThreadIds ?? null,
      },
      params.cursor ?? null,
    )
    return {
      data: found.threads.map((stored) => this.view(stored, [])),
      readStates: Object.fromEntries(found.threads.map(({ id }) => [id, this.context.readStates.of(id)])),
      nextCursor: found.nextCursor,
      backwardsCursor: found.backwardsCursor,
    }
  }

  /** A thread by id, loaded or on disk. @throws WireError "thread not loaded" */
  async stored(threadId: string): Promise<StoredThread> {
    const thread = this.context.threads.get(threadId)?.stored ?? (await this.context.store.find(threadId))?.thread
    if (!thread) throw invalidRequest(`thread not loaded: ${threadId}`)
    return thread
  }

  /** The same, for pages, which need something on disk. */
  async listable(threadId: string, name: string): Promise<StoredThread> {
    const loaded = this.context.threads.get(threadId)
    if (loaded?.ephemeral) throw invalidRequest(`ephemeral threads do not support ${name}`)
    // What a running turn has finished is part of every page.
    const log = loaded?.session.log
    if (loaded?.session.activeTurn || (log?.materialized && !log.indexed)) await loaded!.session.persist()
    if (loaded && !loaded.session.log?.materialized)
      throw invalidRequest(
        `thread ${threadId} is not materialized yet; ${name} is unavailable before first user message`,
      )
    return this.stored(threadId)
  }

  view(stored: StoredThread, turns: readonly TurnText[]): unknown {
    const view = this.context.viewStored(stored)
    const active = this.context.threads.get(stored.id)?.session.activeTurn?.id ?? null
    return turns.length === 0 ? view : { ...view, turns: turnsText(turns, active) }
  }

  async turnsOf(stored: StoredThread): Promise<TurnText[]> {
    const loaded = this.context.threads.get(stored.id)
    if (loaded && !loaded.session.log?.materialized) return []
    return this.context.store.turnTexts(stored)
  }

  /** Adds a record to a thread that may not be loaded. */
  async annotate(
    threadId: string,
    event: Record<string, unknown>,
    apply: (stored: StoredThread) => void,
  ): Promise<StoredThread> {
    const loaded = this.context.threads.get(threadId)
    if (loaded) {
      apply(loaded.stored)
      loaded.session.recordEvent(event)
      if (loaded.session.log?.materialized) await loaded.session.log.flush(true)
      return loaded.stored
    }
    const { log } = await this.context.store.open(threadId)
    try {
      apply(log.thread)
      log.append('event_msg', event)
      await log.flush(true)
      return log.thread
    } finally {
      await log.close()
    }
  }

  private async firstPage(thread: LoadedThread, params: Loose): Promise<Loose> {
    const wanted = params.initialTurnsPage as
      | { limit?: number; sortDirection?: 'asc' | 'desc'; itemsView?: 'notLoaded' | 'summary' | 'full' }
      | undefined
    if (!thread.session.log?.materialized)
      return { initialTurnsPage: null, turnsBackwardsCursor: null, itemsBackwardsCursor: null }
    const newest = { cursor: null, limit: 1, descending: true }
    const [turns, items] = [
      await this.context.store.pages.turns(thread.stored, newest, 'notLoaded'),
      await this.context.store.pages.items(thread.stored, newest),
    ]
    const initialTurnsPage = wanted
      ? await this.context.store.pages.turns(
          thread.stored,
          { cursor: null, limit: limitOf(wanted.limit), descending: wanted.sortDirection !== 'asc' },
          wanted.itemsView ?? 'summary',
        )
      : null
    return {
      initialTurnsPage,
      turnsBackwardsCursor: turns.backwardsCursor,
      itemsBackwardsCursor: items.backwardsCursor,
    }
  }

  /** The request's own words; a sandbox mode takes its details from the configuration. */
  private overrides(config: ConfigTable, params: Loose): SettingsOverrides {
    const overrides = overridesOf(params)
    const named = namedSandbox(params)
    if (!named) return overrides
    const { sandboxPolicy } = this.context.defaultSettings({ ...config, sandbox_mode: named }, '/')
    return { ...overrides, sandboxPolicy }
  }

  private settings(config: ConfigTable, params: Loose) {
    const overrides = this.overrides(config, params)
    const settings = this.context.defaultSettings(config, overrides.cwd ?? defaultCwd())
    return { ...settings, ...Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined)) }
  }

  private async common(params: Loose, originator: string) {
    const { config: stored } = await this.context.configFile.load()
    const liveConfig = new LiveConfig(stored, tableOfOverrides((params.config as ConfigTable | null | undefined) ?? {}))
    const config = liveConfig.current
    const text = (name: string): string | null => (typeof params[name] === 'string' ? (params[name] as string) : null)
    return {
      config,
      common: {
        originator,
        baseInstructions: text('baseInstructions'),
        developerInstructions:
          text('developerInstructions') ??
          (typeof config.developer_instructions === 'string' ? config.developer_instructions : null),
        compactPrompt: typeof config.compact_prompt === 'string' ? config.compact_prompt : null,
        dynamicTools: dynamicTools(params.dynamicTools),
        rawEvents: params.experimentalRawEvents === true,
        liveConfig,
        services: this.context.servicesFor(liveConfig, originator),
      },
    }
  }

  private async defaultProvider(): Promise<string> {
    const { config } = await this.context.configFile.load()
    return typeof config.model_provider === 'string' ? config.model_provider : 'openai'
  }
}

const dynamicToolList = array(
  object({
    namespace: nullable(string),
    name: string,
    description: withDefault(string, ''),
    inputSchema: unknown,
    deferLoading: withDefault(boolean, false),
    tools: unknown,
  }),
)

/** Plain tools, or namespaces with tools inside. */
function dynamicTools(value: unknown): DynamicToolSpec[] {
  if (value === undefined || value === null) return []
  return dynamicToolList(value, 'dynamicTools').flatMap((spec) => {
    const plain = ({ namespace, name, description, inputSchema, deferLoading }: typeof spec): DynamicToolSpec => ({
      namespace,
      name,
      description,
      inputSchema,
      deferLoading,
    })
    if (!Array.isArray(spec.tools)) return [plain(spec)]
    return dynamicToolList(spec.tools, 'dynamicTools.tools').map((inner) => ({ ...plain(inner), namespace: spec.name }))
  })
}
