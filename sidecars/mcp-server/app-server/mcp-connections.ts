/**
 * MCP servers from the configuration, one set per thread: started beside each other, their tools offered
 * when ready, ended with the thread.
 */
import type { Emit } from '../../protocol/app-server/notifications.ts'
import type { McpCallHooks, McpCallResult, McpToolSpec, McpTools } from '../engine/mcp-tools.ts'
import type { ConfigTable } from './config-file.ts'
import type { McpServerHandle } from './mcp-server-handle.ts'

/** A turn waits this long for servers that still start, once; late tools come with the next turn. */
const START_GRACE_MS = 3000

interface ThreadServers {
  configText: string
  servers: McpServerHandle[]
  ready: Promise<void>
  waited: boolean
  /** Calls that run; servers are not changed under them. */
  calls: number
  /** Takes the place of these servers between two requests of the model. */
  next: ConfigTable | null
}

/** Owned by the server. */
export class McpConnections implements McpTools {
  private readonly threads = new Map<string, ThreadServers>()

  constructor(
    private readonly emit: Emit,
    private readonly version: string,
  ) {}

  /** Starts the servers of a thread, unless they run already with the same configuration. */
  prepare(threadId: string, config: ConfigTable): void {
    const table = (config.mcp_servers as Record<string, ConfigTable> | undefined) ?? {}
    const configText = JSON.stringify(table)
    const known = this.threads.get(threadId)
    if (known?.configText === configText) return
    if (known) void this.release(threadId)
    const entry: ThreadServers = {
      configText,
      servers: [],
      ready: Promise.resolve(),
      waited: false,
      calls: 0,
      next: null,
    }
    this.threads.set(threadId, entry)
    // A thread without servers may get some later.
    if (Object.keys(table).length > 0) entry.ready = this.startAll(threadId, table, entry)
  }

  async list(threadId: string): Promise<readonly McpToolSpec[]> {
    await this.refresh(threadId)
    const entry = this.threads.get(threadId)
    if (!entry) return []
    if (!entry.waited) {
      entry.waited = true
      await Promise.race([entry.ready, new Promise((resolve) => setTimeout(resolve, START_GRACE_MS).unref())])
    }
    return entry.servers.flatMap((server) => server.tools)
  }

  call(
    threadId: string,
    spec: McpToolSpec,
    args: Record<string, unknown>,
    hooks: McpCallHooks,
  ): Promise<McpCallResult> {
    const server = this.threads.get(threadId)?.servers.find(({ name }) => name === spec.server)
    if (!server) return Promise.reject(new Error(`MCP server ${spec.server} is not running`))
    const entry = this.threads.get(threadId)!
    entry.calls++
    return server.call(spec.tool, args, hooks).finally(() => entry.calls--)
  }

  /** Rejects with the server's error. */
  async readResource(threadId: string, name: string, uri: string): Promise<unknown[]> {
    return (await this.server(threadId, name)).readResource(uri)
  }

  async listResources(
    threadId: string,
    name: string,
    kind: 'resources' | 'resourceTemplates',
    cursor?: string,
  ): Promise<{ entries: unknown[]; nextCursor: string | null }> {
    return (await this.server(threadId, name)).listResources(kind, cursor)
  }

  resourceServers(threadId: string): string[] {
    return (this.threads.get(threadId)?.servers ?? []).filter((server) => server.hasResources).map(({ name }) => name)
  }

  private async server(threadId: string, name: string): Promise<McpServerHandle> {
    await this.refresh(threadId)
    const entry = this.threads.get(threadId)
    await entry?.ready
    const server = entry?.servers.find((known) => known.name === name)
    if (!server) throw new Error('it is not running')
    return server
  }

  async status(threadId: string): Promise<unknown[]> {
    await this.refresh(threadId)
    const entry = this.threads.get(threadId)
    if (!entry) return []
    await entry.ready
    return Promise.all(entry.servers.map((server) => server.status()))
  }

  /** Servers are started anew when their thread next wants them, never under a call that runs. */
  reload(config: ConfigTable): void {
    for (const entry of this.threads.values()) entry.next = config
  }

  private async refresh(threadId: string): Promise<void> {
    const entry = this.threads.get(threadId)
    if (!entry?.next || entry.calls > 0) return
    const { next } = entry
    await this.release(threadId)
    this.prepare(threadId, next)
  }

  async release(threadId: string): Promise<void> {
    const entry = this.threads.get(threadId)
    this.threads.delete(threadId)
    await entry?.ready
    await Promise.allSettled(entry?.servers.map((server) => server.close()) ?? [])
  }

  async close(): Promise<void> {
    await Promise.all([...this.threads.keys()].map((id) => this.release(id)))
  }

  private async startAll(threadId: string, table: Record<string, ConfigTable>, entry: ThreadServers): Promise<void> {
    // The client library is large: loaded when the first server is configured.
    const { McpServerHandle: Handle } = await import('./mcp-server-handle.ts')
    entry.servers = Object.entries(table)
      .filter(([, config]) => config.enabled !== false)
      .map(([name, config]) => new Handle(name, config, this.version))
    await Promise.all(
      entry.servers.map(async (server) => {
        const tell = (status: 'starting' | 'ready' | 'failed', error: string | null) =>
          threadId !== '' &&
          this.emit('mcpServer/startupStatus/updated', {
            threadId,
            name: server.name,
            status,
            error,
            failureReason: null,
          })
        tell('starting', null)
        try {
          await server.start()
          tell('ready', null)
        } catch (error) {
          tell('failed', (error as Error).message)
        }
      }),
    )
  }
}
