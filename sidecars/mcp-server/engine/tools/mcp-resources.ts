/** `list_mcp_resources`, `list_mcp_resource_templates`, `read_mcp_resource`: what MCP servers have to read. They only read. */
import type { McpToolCallItem } from '../../../protocol/app-server/thread-item.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { DEFAULT_OUTPUT_TOKENS, truncateMiddle } from '../output-text.ts'
import { needText, readText } from '../tool-arguments.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'

type Arguments = Record<string, unknown>

/** For threads with servers that have resources; `servers` are their names. */
export function mcpResourceTools(thread: ThreadRuntime, servers: readonly string[]): [string, ToolHandler][] {
  const { mcp } = thread.services
  const known = (name: string): string => {
    if (servers.includes(name)) return name
    throw new ToolFailure(`no MCP server ${name} has resources; there are ${servers.join(', ')}`)
  }
  const list = (kind: 'resources' | 'resourceTemplates') => async (args: Arguments) => {
    const server = readText(args, 'server')
    const cursor = readText(args, 'cursor')
    if (cursor !== undefined && server === undefined) throw new ToolFailure('a cursor needs the server it came from')
    if (server === undefined) {
      const pages = await Promise.all(
        servers.map(async (name) =>
          (await mcp.listResources(thread.id, name, kind)).entries.map((e) => named(name, e)),
        ),
      )
      return { [kind]: pages.flat() }
    }
    const { entries, nextCursor } = await mcp.listResources(thread.id, known(server), kind, cursor)
    return { server, [kind]: entries.map((entry) => named(server, entry)), ...(nextCursor !== null && { nextCursor }) }
  }
  const read = async (args: Arguments) => {
    const server = known(needText(args, 'server'))
    const uri = needText(args, 'uri')
    return { server, uri, contents: await mcp.readResource(thread.id, server, uri) }
  }
  return [
    ['list_mcp_resources', tool(thread, list('resources'))],
    ['list_mcp_resource_templates', tool(thread, list('resourceTemplates'))],
    ['read_mcp_resource', tool(thread, read)],
  ]
}

const named = (server: string, entry: unknown): unknown => ({ server, ...(entry as object) })

/** Shown like a call of the server's own tools. */
function tool(thread: ThreadRuntime, work: (args: Arguments) => Promise<unknown>): ToolHandler {
  return {
    parallel: true,
    run: async (call, turn, signal) => {
      const args = argumentsOf(call)
      const startedMs = thread.services.nowMs()
      const item: McpToolCallItem = {
        type: 'mcpToolCall',
        id: call.callId,
        server: readText(args, 'server') ?? '',
        tool: call.name,
        arguments: args,
        status: 'inProgress',
        result: null,
        error: null,
        readOnlyHint: true,
        durationMs: null,
      }
      const startedAtMs = thread.beginItem(turn.id, item)
      const end = (more: Partial<McpToolCallItem>) =>
        thread.finishItem(turn.id, { ...item, ...more, durationMs: thread.services.nowMs() - startedMs }, startedAtMs)
      try {
        const text = JSON.stringify(await work(args))
        const result = { content: [{ type: 'text', text }], structuredContent: null, _meta: null }
        end({ status: 'completed', result })
        return { content: truncateMiddle(text, DEFAULT_OUTPUT_TOKENS), success: true }
      } catch (error) {
        end({ status: 'failed', error: { message: (error as Error).message } })
        signal.throwIfAborted()
        throw error instanceof ToolFailure ? error : new ToolFailure(`${call.name} failed: ${(error as Error).message}`)
      }
    },
  }
}
