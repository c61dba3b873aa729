/** One MCP server that we are a client of. */
import '../runtime/node18-globals.ts'
import { createHash } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { McpCallHooks, McpCallResult, McpToolSpec } from '../engine/mcp-tools.ts'
import type { ConfigTable } from './config-file.ts'

const DEFAULT_STARTUP_SEC = 30
const DEFAULT_TOOL_SEC = 300
/** A server that never stops giving pages is stopped being asked. */
const MAX_TOOL_PAGES = 50
const MAX_NAME_CHARACTERS = 128

export class McpServerHandle {
  tools: McpToolSpec[] = []
  private client: Client | null = null
  private failure: string | null = null
  private rawTools: Record<string, unknown> = {}
  /** Hooks of the calls that run, newest last: an elicitation belongs to the newest. */
  private readonly calls: McpCallHooks[] = []

  constructor(
    readonly name: string,
    private readonly config: ConfigTable,
    private readonly version: string,
  ) {}

  /** Connects and reads the tools. Rejects with a text for people; may be called again. */
  async start(): Promise<void> {
    try {
      await this.connect()
      this.failure = null
    } catch (error) {
      this.failure = (error as Error).message
      await this.close()
      throw error
    }
  }

  async call(tool: string, args: Record<string, unknown>, hooks: McpCallHooks): Promise<McpCallResult> {
    if (!this.client) await this.start()
    this.calls.push(hooks)
    try {
      const result = (await this.client!.callTool(
        { name: tool, arguments: args },
        {
          signal: hooks.signal,
          timeout: seconds(this.config.tool_timeout_sec, DEFAULT_TOOL_SEC),
          onprogress: (progress) =>
            hooks.onProgress(
              progress.message ?? `${progress.progress}${progress.total === undefined ? '' : `/${progress.total}`}`,
            ),
          resetTimeoutOnProgress: true,
        },
      )) as { content?: unknown[]; structuredContent?: unknown; isError?: boolean; _meta?: unknown }
      return {
        content: result.content ?? [],
        structuredContent: result.structuredContent ?? null,
        isError: result.isError === true,
        meta: result._meta ?? null,
      }
    } finally {
      this.calls.splice(this.calls.indexOf(hooks), 1)
    }
  }

  async readResource(uri: string): Promise<unknown[]> {
    if (!this.client) await this.start()
    return (
      await this.client!.readResource({ uri }, { timeout: seconds(this.config.tool_timeout_sec, DEFAULT_TOOL_SEC) })
    ).contents
  }

  get hasResources(): boolean {
    return this.client?.getServerCapabilities()?.resources !== undefined
  }

  async listResources(
    kind: 'resources' | 'resourceTemplates',
    cursor?: string,
  ): Promise<{ entries: unknown[]; nextCursor: string | null }> {
    if (!this.client) await this.start()
    const options = { timeout: seconds(this.config.tool_timeout_sec, DEFAULT_TOOL_SEC) }
    const params = cursor === undefined ? {} : { cursor }
    if (kind === 'resources') {
      const { resources, nextCursor } = await this.client!.listResources(params, options)
      return { entries: resources, nextCursor: nextCursor ?? null }
    }
    const { resourceTemplates, nextCursor } = await this.client!.listResourceTemplates(params, options)
    return { entries: resourceTemplates, nextCursor: nextCursor ?? null }
  }

  /** How it stands, with what it has to read. */
  async status(): Promise<unknown> {
    const pageOf = async (kind: 'resources' | 'resourceTemplates'): Promise<unknown[]> =>
      this.hasResources ? (await this.listResources(kind).catch(() => ({ entries: [] }))).entries : []
    const [resources, resourceTemplates] = await Promise.all([pageOf('resources'), pageOf('resourceTemplates')])
    return {
      name: this.name,
      environmentId: null,
      runtimeStatus: this.failure ? 'failed' : this.client ? 'connected' : 'notStarted',
      pluginId: null,
      httpOrigin: null,
      serverInfo: this.client?.getServerVersion() ?? null,
      serverCapabilities: this.client?.getServerCapabilities() ?? null,
      toolListMeta: null,
      tools: this.rawTools,
      toolsError: this.failure,
      resources,
      resourceTemplates,
      authStatus: 'unsupported',
    }
  }

  async close(): Promise<void> {
    const { client } = this
    this.client = null
    this.tools = []
    await client?.close().catch(() => undefined) // It has gone already.
  }

  private async connect(): Promise<void> {
    const client = new Client(
      { name: 'gatehouse', version: this.version },
      { capabilities: { elicitation: { form: {}, url: {} } } },
    )
    client.setRequestHandler('elicitation/create', async (request) => {
      const params = request.params as Record<string, unknown>
      const hooks = this.calls.at(-1)
      if (!hooks) return { action: 'cancel' }
      const answer = await hooks.onElicitation({
        server: this.name,
        mode: typeof params.mode === 'string' ? params.mode : 'form',
        message: String(params.message ?? ''),
        params,
      })
      return answer.action === 'accept'
        ? { action: 'accept', content: (answer.content ?? {}) as Record<string, string> }
        : { action: answer.action }
    })
    const timeout = seconds(this.config.startup_timeout_sec, DEFAULT_STARTUP_SEC)
    await client.connect(this.transport(), { timeout })
    this.client = client
    // The library has callbacks, not events.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    client.onclose = () => {
      if (this.client === client) this.client = null
    }
    await this.readTools(client, timeout)
  }

  private transport() {
    const { url, command, args, env, cwd } = this.config as {
      url?: unknown
      command?: unknown
      args?: string[]
      env?: Record<string, string>
      cwd?: string
    }
    if (typeof url === 'string') {
      const variable = this.config.bearer_token_env_var
      const token = typeof variable === 'string' ? process.env[variable] : undefined
      if (typeof variable === 'string' && !token)
        throw new Error(`environment variable ${variable} of MCP server ${this.name} is not set`)
      const headers = {
        ...(this.config.http_headers as Record<string, string> | undefined),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
      }
      return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    }
    if (typeof command !== 'string') throw new Error(`mcp_servers.${this.name} has neither a command nor a url`)
    return new StdioClientTransport({
      command,
      args: args ?? [],
      env: { ...defaultEnvironment(), ...env },
      ...(cwd ? { cwd } : {}),
      stderr: 'ignore',
    })
  }

  private async readTools(client: Client, timeout: number): Promise<void> {
    const seen = new Set<string>()
    let cursor: string | undefined
    const found: {
      name: string
      description?: string
      inputSchema: unknown
      annotations?: { readOnlyHint?: boolean }
    }[] = []
    for (let page = 0; page < MAX_TOOL_PAGES; page++) {
      const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout })
      found.push(...(answer.tools as typeof found))
      cursor = answer.nextCursor
      if (cursor === undefined || seen.has(cursor)) break
      seen.add(cursor)
    }
    const wanted = (name: string) =>
      (!Array.isArray(this.config.enabled_tools) || this.config.enabled_tools.includes(name)) &&
      !(Array.isArray(this.config.disabled_tools) && this.config.disabled_tools.includes(name))
    this.rawTools = Object.fromEntries(found.map((tool) => [tool.name, tool]))
    const namespace = `mcp__${clean(this.name)}`
    const used = new Set<string>()
    this.tools = [...new Map(found.filter(({ name }) => wanted(name)).map((tool) => [tool.name, tool])).values()]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((tool) => ({
        server: this.name,
        tool: tool.name,
        namespace,
        name: modelName(
          namespace,
          tool.name,
          used,
          found.map(({ name }) => name),
        ),
        description: tool.description ?? '',
        inputSchema: tool.inputSchema,
        readOnly: tool.annotations?.readOnlyHint === true,
        annotations: tool.annotations ?? null,
      }))
  }
}

const clean = (text: string): string => text.replaceAll(/[^A-Za-z0-9_]/gu, '_')

/**
 * A name that the model may use: allowed characters, unique, short enough. The hash is of the raw name,
 * so that it does not depend on the order of the list.
 */
function modelName(namespace: string, raw: string, used: Set<string>, all: readonly string[]): string {
  const cleaned = clean(raw)
  const room = MAX_NAME_CHARACTERS - namespace.length - 2
  const collides = all.some((other) => other !== raw && clean(other) === cleaned)
  const suffix = `_${createHash('sha1').update(raw).digest('hex').slice(0, 12)}`
  const name = collides || cleaned.length > room ? cleaned.slice(0, room - suffix.length) + suffix : cleaned
  used.add(name)
  return name
}

const seconds = (value: unknown, fallback: number): number =>
  (typeof value === 'number' && value > 0 ? value : fallback) * 1000

/** What a server gets of our environment: enough to run, no secrets. */
function defaultEnvironment(): Record<string, string> {
  const names = ['HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER']
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}
