// An MCP server on stdio with three tools (one that only reads, one that does not, one that asks the person) and two resources.
import { createInterface } from 'node:readline'

const TEXT = { type: 'object', properties: { text: { type: 'string' } } }
const TOOLS = [
  { name: 'echo', description: 'says it again', inputSchema: TEXT, annotations: { readOnlyHint: true } },
  { name: 'store', description: 'keeps it', inputSchema: TEXT, annotations: { destructiveHint: true } },
  {
    name: 'ask',
    description: 'asks for a colour',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  },
]
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const said = (text) => ({ content: [{ type: 'text', text }] })
const answered = new Map()

function call(id, { name, arguments: args }) {
  if (name !== 'ask') return send({ id, result: said(`${name}: ${args.text}`) })
  const question = `ask-${id}`
  answered.set(question, ({ result }) => send({ id, result: said(JSON.stringify(result ?? null)) }))
  const requestedSchema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] }
  send({ id: question, method: 'elicitation/create', params: { message: 'What colour?', requestedSchema } })
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line)
  const { id, method, params } = message
  if (method === undefined) answered.get(id)?.(message)
  else if (method === 'initialize')
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: 'mini', version: '1' },
      },
    })
  else if (method === 'tools/list') send({ id, result: { tools: TOOLS } })
  else if (method === 'tools/call') call(id, params)
  else if (method === 'resources/list')
    send({
      id,
      result: params?.cursor
        ? { resources: [{ uri: 'mini://b', name: 'b' }] }
        : { resources: [{ uri: 'mini://a', name: 'a' }], nextCursor: 'more' },
    })
  else if (method === 'resources/templates/list')
    send({ id, result: { resourceTemplates: [{ uriTemplate: 'mini://{name}', name: 'any' }] } })
  else if (method === 'resources/read')
    send(
      params.uri.startsWith('mini://')
        ? { id, result: { contents: [{ uri: params.uri, text: `text of ${params.uri}` }] } }
        : { id, error: { code: -32002, message: `no resource ${params.uri}` } },
    )
  else if (method === 'ping') send({ id, result: {} })
  else if (id !== undefined) send({ id, error: { code: -32601, message: `no method ${method}` } })
}
