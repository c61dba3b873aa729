// An MCP server with one tool. `node mcp-fixture.mjs` speaks stdio; `startHttpMcp` serves streamable
// HTTP on loopback. The exec server runs or reaches it on behalf of the CLI.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const fixturePath = fileURLToPath(import.meta.url)
export const greeting = (mark) => `greetings from the fixture ${mark}`

function resultOf({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'fixture', version: '1' },
      }
    case 'tools/list':
      return {
        tools: [
          {
            name: 'greet',
            description: 'Greets.',
            inputSchema: { type: 'object', properties: {} },
            annotations: { readOnlyHint: true },
          },
        ],
      }
    case 'tools/call':
      return { content: [{ type: 'text', text: greeting(process.env.FIXTURE_MARK ?? 'http') }] }
    default:
      return {}
  }
}

export async function startHttpMcp() {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(request.method === 'GET' ? 405 : 200).end()
    let text = ''
    request.on('data', (part) => (text += part))
    request.on('end', () => {
      const message = JSON.parse(text)
      if (message.id === undefined) return response.writeHead(202).end()
      response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'fixture' })
      const answer = { jsonrpc: '2.0', id: message.id, result: resultOf(message) }
      response.end(`event: message\ndata: ${JSON.stringify(answer)}\n\n`)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

if (process.argv[1] === fixturePath)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.id === undefined) return
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) })}\n`)
  })
