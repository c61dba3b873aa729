/** The app server: connections, methods, threads and what they share. */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import type { Transport } from '../../rpc/transport.ts'
import type { ClientRequests } from '../../protocol/app-server/server-requests.ts'
import type { Thread } from '../../protocol/app-server/thread.ts'
import type { CommandRules, CommandStarter, EngineServices, SandboxRoots } from '../engine/services.ts'
import type { TraceSubmission } from '../engine/submissions.ts'
import { withOverrides, type Settings } from '../engine/thread-settings.ts'
import { modelInfo } from '../model/model-catalogue.ts'
import { resolveProvider } from '../model/provider.ts'
import { SystemSecrets, type ProviderSecrets } from '../model/provider-secrets.ts'
import { ResponsesClient } from '../model/responses-client.ts'
import { ThreadStore } from '../rollout/thread-store.ts'
import { PendingRequests } from './client-requests.ts'
import { ConfigFile, type ConfigTable } from './config-file.ts'
import { AppConnection, notificationText } from './connection.ts'
import { GoalKeeper } from './goal-keeper.ts'
import type { LiveConfig } from './live-config.ts'
import { McpConnections } from './mcp-connections.ts'
import { MethodTable } from './method-table.ts'
import { catalogueMethods } from './methods/catalogue-methods.ts'
import { commandMethods } from './methods/command-methods.ts'
import { configMethods } from './methods/config-methods.ts'
import { fileMethods } from './methods/file-methods.ts'
import { fileSearchMethods } from './methods/file-search-methods.ts'
import { handshakeMethods } from './methods/handshake.ts'
import type { ServerContext } from './methods/server-context.ts'
import { keepingMethods } from './methods/keeping-methods.ts'
import { pluginMethods } from './methods/plugin-methods.ts'
import { realtimeMethods } from './methods/realtime-methods.ts'
import { threadMethods } from './methods/thread-methods.ts'
import { turnMethods } from './methods/turn-methods.ts'
import { ReadStates } from './read-states.ts'
import { RequestQueues } from './request-queues.ts'
import { ThreadAgents } from './thread-agents.ts'
import { ThreadKeeper } from './thread-keeper.ts'
import { ThreadManager } from './thread-manager.ts'
import { defaultCwd, overridesOf, settingsFromConfig } from './thread-settings-source.ts'
import { threadView } from './thread-view.ts'
import { APP_SERVER_ERROR, WireError } from './wire-error.ts'

/** Requests in flight over all connections; more are answered "overloaded". */
const MAX_REQUESTS = 128

export interface AppServerOptions {
  home: string
  exec: () => CommandStarter
  rules: CommandRules
  sandboxObject: EngineServices['sandboxObject']
  sandboxRoots: (settings: Settings) => Promise<SandboxRoots>
  shell: { path: string; name: string }
  log: (message: string) => void
  nowMs?: () => number
  /** Somebody beside the clients who can answer what the engine asks. */
  askAlso?: (clients: ClientRequests) => ClientRequests
  watch?: ThreadWatcher
  /** Keys of providers; this process's variables and the system's keychain otherwise. */
  secrets?: ProviderSecrets
  /** Spans around what threads are asked to do. */
  trace?: TraceSubmission
}

/** Follows the threads of a server, whoever works with them. */
export interface ThreadWatcher {
  loaded(thread: Thread): void
  unloaded(threadId: string): void
  notified: Emit
}

/** Owned by the entry. `serve` takes a connection; `close` ends everything. */
export class AppServer {
  private readonly connections = new Set<AppConnection>()
  private readonly methods = new MethodTable(new RequestQueues())
  private readonly context: ServerContext
  private readonly responses: ResponsesClient
  private readonly asked: ClientRequests
  private idleWaiters: (() => void)[] = []

  constructor(private readonly options: AppServerOptions) {
    const nowMs = options.nowMs ?? Date.now
    const secrets = options.secrets ?? new SystemSecrets()
    this.responses = new ResponsesClient(secrets)
    const store = new ThreadStore({ home: options.home, nowMs, onProblem: options.log })
    const { watch } = options
    const emit: Emit = (method, params) => {
      watch?.notified(method, params)
      this.broadcast(method, params)
      // What follows from it is told after it.
      agents.notified(method, params)
      goals.notified(method, params)
    }
    const requests = new PendingRequests({
      subscribers: (threadId) => this.subscribersOf(threadId),
      resolved: (threadId, requestId, asked) => this.tellResolved(threadId, requestId, asked),
    })
    this.asked = options.askAlso?.(requests) ?? requests
    const readStates = new ReadStates()
    const keeper = new ThreadKeeper(emit)
    const mcp = new McpConnections(emit, GATEHOUSE_VERSION)
    const threads = new ThreadManager({
      store,
      version: GATEHOUSE_VERSION,
      nowMs,
      trace: options.trace ?? null,
      hasSubscribers: (threadId) => this.subscribersOf(threadId).length > 0,
      onEnding: (threadId, turnId) => {
        const readState = readStates.ended(threadId, turnId)
        if (readState) emit('thread/readState/changed', { threadId, readState })
      },
      onIdle: (thread, last) => {
        keeper.turnEnded(thread, last)
        goals.turnEnded(thread, last)
        this.wakeIfIdle()
      },
      onLoaded: (thread) => watch?.loaded(threads.view(thread)),
      onUnloaded: (threadId) => watch?.unloaded(threadId),
      announce: (method, threadId) => {
        emit('thread/status/changed', { threadId, status: { type: 'notLoaded' } })
        emit(method, { threadId })
      },
    })
    const goals = new GoalKeeper(threads, keeper, nowMs)
    const agents = new ThreadAgents({
      threads,
      store,
      emit,
      prepareMcp: (threadId, config) => mcp.prepare(threadId, config),
      shareSubscribers: (from, to) => {
        for (const connection of this.subscribersOf(from)) connection.subscriptions.add(to)
      },
    })
    this.context = {
      home: options.home,
      version: GATEHOUSE_VERSION,
      store,
      threads,
      requests,
      configFile: new ConfigFile(options.home),
      mcp,
      agents,
      goals,
      readStates,
      keeper,
      viewStored: (stored) => {
        const loaded = threads.get(stored.id)
        return loaded ? threads.view(loaded) : threadView(stored, { type: 'notLoaded' }, [])
      },
      emit,
      secrets,
      nowMs,
      servicesFor: (config, originator) => this.services(config, originator, emit, nowMs),
      defaultSettings: settingsFromConfig,
      subscribe: (connection, threadId) => void connection.subscriptions.add(threadId),
      unsubscribe: (connection, threadId) => {
        const was = connection.subscriptions.delete(threadId)
        // They came with it.
        for (const child of threads.children(threadId)) this.context.unsubscribe(connection, child.session.id)
        threads.considerUnload(threadId)
        return was
      },
    }
    this.methods
      .add(handshakeMethods(this.context))
      .add(threadMethods(this.context))
      .add(turnMethods(this.context))
      .add(
        commandMethods({
          exec: options.exec,
          defaultCwd,
          sandbox: async (cwd, asked) => {
            const { config } = await this.context.configFile.load()
            return options.sandboxObject(withOverrides(settingsFromConfig(config, cwd), overridesOf(asked)))
          },
        }),
      )
      .add(fileMethods())
      .add(fileSearchMethods())
      .add(configMethods(this.context))
      .add(keepingMethods(this.context))
      .add(realtimeMethods(this.context))
      .add(catalogueMethods(this.context))
      .add(pluginMethods())
  }

  /** Makes ready what the first requests need, when there is anything yet. */
  warmUp(): void {
    this.context.store.warmUp()
  }

  serve(transport: Transport): AppConnection {
    const connection = new AppConnection(transport, {
      onRequest: (from, id, method, params, trace) => {
        if (this.inFlight >= MAX_REQUESTS)
          return from.refuse(id, new WireError(APP_SERVER_ERROR.overloaded, 'Server overloaded; retry later.'))
        this.methods.dispatch(from, id, method, params, trace)
      },
      // `initialized` needs no reaction; unknown notifications are a matter for the log.
      onNotification: (_, method) =>
        method !== 'initialized' && this.options.log(`a client sent the unknown notification ${method}`),
      onAnswer: (from, id, answer) => this.context.requests.answer(from, id, answer),
      onMalformed: (_, message) => this.options.log(`a client sent something that is no message: ${message}`),
      onClose: (closed) => void this.drop(closed),
    })
    this.connections.add(connection)
    connection.start()
    return connection
  }

  /** Resolves when no thread works any more. */
  idle(): Promise<void> {
    return this.busy ? new Promise((resolve) => this.idleWaiters.push(resolve)) : Promise.resolve()
  }

  async close(): Promise<void> {
    for (const connection of this.connections) connection.transport.close('the server ends')
    await this.context.threads.shutdown()
    await this.context.mcp.close()
    await this.context.store.close()
    this.responses.close()
  }

  private get inFlight(): number {
    let sum = 0
    for (const connection of this.connections) sum += connection.inFlight
    return sum
  }

  private get busy(): boolean {
    return [...this.context.threads.all()].some((thread) => thread.session.activeTurn !== null)
  }

  private wakeIfIdle(): void {
    if (!this.busy) for (const wake of this.idleWaiters.splice(0)) wake()
  }

  private services(live: LiveConfig, originator: string, emit: Emit, nowMs: () => number): EngineServices {
    return {
      emit,
      requests: this.asked,
      store: this.context.store,
      responses: this.responses,
      exec: this.options.exec,
      rules: this.options.rules,
      mcp: this.context.mcp,
      agents: this.context.agents,
      goals: this.context.goals,
      provider: (settings) =>
        resolveProvider(settings.modelProvider, (live.current.model_providers as ConfigTable | undefined) ?? {}),
      modelInfo: (slug) => {
        const info = modelInfo(slug)
        const { model_context_window: window, model_auto_compact_token_limit: limit } = live.current
        const contextWindow = typeof window === 'number' ? window : info.contextWindow
        return {
          ...info,
          contextWindow,
          autoCompactTokens:
            typeof limit === 'number'
              ? Math.min(limit, info.autoCompactTokens)
              : Math.min(info.autoCompactTokens, Math.floor(contextWindow * 0.9)),
        }
      },
      sandboxObject: this.options.sandboxObject,
      sandboxRoots: this.options.sandboxRoots,
      originator,
      version: GATEHOUSE_VERSION,
      shell: this.options.shell,
      nowMs,
    }
  }

  /** Serialized once, whoever reads it. */
  private broadcast(method: string, params: object): void {
    const { threadId } = params as { threadId?: string | null }
    let text: string | null = null
    for (const connection of this.connections)
      if (connection.wants(method, threadId ?? null))
        connection.sendText((text ??= notificationText(method, params, Date.now())))
  }

  private subscribersOf(threadId: string): AppConnection[] {
    return [...this.connections].filter((connection) => connection.subscriptions.has(threadId))
  }

  private tellResolved(threadId: string, requestId: number, asked: Iterable<AppConnection>): void {
    const text = notificationText('serverRequest/resolved', { threadId, requestId }, Date.now())
    for (const connection of asked) if (connection.wants('serverRequest/resolved', null)) connection.sendText(text)
  }

  private async drop(connection: AppConnection): Promise<void> {
    this.connections.delete(connection)
    this.context.requests.forget(connection)
    const watched = [...connection.subscriptions]
    connection.subscriptions.clear()
    await connection.close()
    for (const threadId of watched) this.context.threads.considerUnload(threadId)
  }
}
