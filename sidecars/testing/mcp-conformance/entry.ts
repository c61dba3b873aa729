/**
 * Serves what the MCP conformance suite looks for through the product's own HTTP entry: its guards,
 * session handling and era routing are what is measured. Prints its URL; ends with SIGTERM.
 *
 * The suite cannot send a token, so this front adds it. Run by `run.mjs`.
 */
import '../../mcp-server/runtime/node18-globals.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InMemoryServerEventBus, McpServer } from '@modelcontextprotocol/server'
import { createHttpEntry } from '../../mcp-server/http/http-entry.ts'
import { SessionRegistry } from '../../mcp-server/sessions/session-registry.ts'
import { LocalExec } from '../local-exec.ts'
import { RecordingHost } from '../recording-host.ts'
import { registerContentTools } from './content-tools.ts'
import { registerInputTools, sealedState } from './input-tools.ts'
import { registerPrompts, registerResources } from './resources-and-prompts.ts'

const TOKEN = 'conformance'
const HINT = { ttlMs: 1000, cacheScope: 'private' } as const
const events = new InMemoryServerEventBus()

function createSuiteServer(): McpServer {
  const server = new McpServer(
    { name: 'gatehouse-conformance', version: '0.0.1' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: sealedState.verify },
      cacheHints: {
        'tools/list': HINT,
        'prompts/list': HINT,
        'resources/list': HINT,
        'resources/templates/list': HINT,
        'resources/read': HINT,
      },
    },
  )
  registerContentTools(server, (list) => events.publish({ kind: `${list}_list_changed` }))
  registerInputTools(server)
  registerResources(server)
  registerPrompts(server)
  return server
}

const registry = new SessionRegistry(new RecordingHost(), new LocalExec())
const entry = createHttpEntry({
  agentToken: TOKEN,
  registry,
  createServer: createSuiteServer,
  log: (message) => console.error(message),
  events,
})
const front = createServer((request, response) => {
  request.headers.authorization ??= `Bearer ${TOKEN}`
  void entry.handle(request, response)
})
front.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`)
})
