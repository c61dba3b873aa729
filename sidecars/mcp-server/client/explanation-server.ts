import '../runtime/node18-globals.ts'
import type { Readable, Writable } from 'node:stream'
import { McpServer, type CallToolResult } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'
import { LineCarrier } from '../attach/line-carrier.ts'
import { SERVER_IDENTITY } from '../tools/agent-server.ts'

/**
 * Serves an agent while there is no host: the handshake works and one tool, `status`, says what is
 * wrong. A dead process would be shown by most agents only as "failed".
 */
export function serveExplanation(input: Readable, output: Writable, reason: () => string): () => void {
  const served = serveStdio(() => createExplanationServer(reason), { transport: new LineCarrier(input, output) })
  return () => void served.close()
}

function createExplanationServer(reason: () => string): McpServer {
  const server = new McpServer(SERVER_IDENTITY, {
    capabilities: { tools: { listChanged: true } },
    instructions: `Gatehouse cannot run commands now. ${reason()}`,
  })
  server.registerTool(
    'status',
    {
      title: 'Gatehouse status',
      description:
        'Gatehouse cannot run commands now; this tells why and what to do. Its other tools appear once it runs.',
      inputSchema: z.strictObject({}),
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    () => explanation(reason()),
  )
  // An agent may still call the tools it saw before the host went away.
  server.server.setRequestHandler('tools/call', ({ params }) => ({
    ...explanation(reason()),
    ...(params.name === 'status' ? {} : { isError: true }),
  }))
  return server
}

function explanation(reason: string): CallToolResult {
  return { content: [{ type: 'text', text: `Gatehouse cannot run commands now. ${reason}` }] }
}
