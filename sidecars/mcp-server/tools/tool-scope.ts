import type { CallToolResult, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { AgentSession } from '../sessions/agent-session.ts'

/** What every tool is registered with. */
export interface ToolScope {
  server: McpServer
  /** The session of the client that calls. */
  session: () => AgentSession
}

export const processIdArgument = z.string().min(1).max(64).describe('Name of the process, as run_command gave it')

/** Facts as structure, and the same facts as readable text for clients that show only text. */
export function toolResult(text: string, structuredContent: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent }
}

export function toolError(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}
