import { McpServer } from '@modelcontextprotocol/server'
import { GATEHOUSE_VERSION } from '../../protocol/version.ts'
import type { AgentSession } from '../sessions/agent-session.ts'
import { registerGetResult } from './get-result.ts'
import { registerListProcesses } from './list-processes.ts'
import { registerReadOutput } from './read-output.ts'
import { registerRequestPermission } from './request-permission.ts'
import { registerRunCommand } from './run-command.ts'
import { registerCodexReply, registerSessionReply } from './session-reply.ts'
import { registerCodex, registerSessionStart } from './session-start.ts'
import { registerStatus } from './status.ts'
import { registerStopProcess } from './stop-process.ts'
import type { ToolScope } from './tool-scope.ts'
import { registerWriteStdin } from './write-stdin.ts'

/** The name every Gatehouse MCP server gives of itself. */
export const SERVER_IDENTITY = { name: 'gatehouse', title: 'Gatehouse', version: GATEHOUSE_VERSION }

const INSTRUCTIONS =
  'Gatehouse runs commands on this machine once its owner or a rule allows them. Use run_command; while it says awaiting_approval or running, continue with get_result. A denied command must not be retried in another form: read the reason and ask your user.'

/** In this order the tools are listed. */
const REGISTRATIONS: readonly ((scope: ToolScope) => void)[] = [
  registerRunCommand,
  registerGetResult,
  registerReadOutput,
  registerWriteStdin,
  registerStopProcess,
  registerListProcesses,
  registerRequestPermission,
  registerSessionStart,
  registerSessionReply,
  registerCodex,
  registerCodexReply,
  registerStatus,
]

/** Tools whose answer can take as long as a person or a program takes. */
export const WAITING_TOOLS: ReadonlySet<string> = new Set([
  'run_command',
  'get_result',
  'read_output',
  'request_permission',
  'session_start',
  'session_reply',
  'codex',
  'codex-reply',
])

/**
 * The one set of handlers, for clients of every protocol revision. One instance serves one connection
 * (or, without sessions in the protocol, one request). `session` is asked at each call.
 */
export function createAgentServer(session: () => AgentSession): McpServer {
  // The list itself never changes, but `gatehouse mcp` shows another one while no host runs.
  const server = new McpServer(SERVER_IDENTITY, {
    capabilities: { tools: { listChanged: true } },
    instructions: INSTRUCTIONS,
  })
  for (const register of REGISTRATIONS) register({ server, session })
  return server
}
