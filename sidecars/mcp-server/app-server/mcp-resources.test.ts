/** What MCP servers have to read, as the model and clients get at it. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AppServerClient } from '../../testing/app-server-client.ts'
import { ScriptedAppServer } from '../../testing/scripted-app-server.ts'

let host: ScriptedAppServer
let c: AppServerClient
const calls: [string, object][] = [
  ['list_mcp_resources', {}],
  ['list_mcp_resources', { server: 'mini', cursor: 'more' }],
  ['list_mcp_resource_templates', { server: 'mini' }],
  ['read_mcp_resource', { server: 'mini', uri: 'mini://a' }],
  ['read_mcp_resource', { server: 'mini', uri: 'other://a' }],
  ['read_mcp_resource', { server: 'nobody', uri: 'mini://a' }],
  ['list_mcp_resources', { cursor: 'more' }],
]

beforeEach(async () => {
  host = await ScriptedAppServer.start({
    read: (_, outputs) => {
      const next = calls[outputs.length]
      return next ? [{ call: next[0], args: next[1] }] : [{ say: 'ok' }]
    },
    hello: [[{ say: 'Hello.' }]],
  })
  c = await host.open()
})
afterEach(() => host.close())

const outputs = () =>
  host.model.requests
    .at(-1)!
    .body.input.filter((i) => i.type === 'function_call_output')
    .map((i) => String(i.output))
const offered = () => JSON.stringify(host.model.requests.at(-1)!.body.tools)

it('they are listed and read, and shown as calls; without such a server the tools are not offered', async () => {
  const without = (await c.call('thread/start', { cwd: host.home })).thread.id
  await c.turn(without, '[[hello]]')
  expect(offered()).not.toContain('mcp_resource')
  const script = join(import.meta.dirname, '../../testing/mini-mcp-server.mjs')
  appendFileSync(
    join(host.home, 'config.toml'),
    `[mcp_servers.mini]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(script)}]\n`,
  )
  const threadId = (await c.call('thread/start', { cwd: host.home })).thread.id
  const [status] = (await c.call('mcpServerStatus/list', { threadId })).data
  expect([status.resources, status.resourceTemplates]).toEqual([
    [
      { uri: 'mini://a', name: 'a' },
      { uri: 'mini://b', name: 'b' },
    ],
    [{ uriTemplate: 'mini://{name}', name: 'any' }],
  ])
  const { messages } = await c.turn(threadId, '[[read]]')
  expect(offered()).toContain('list_mcp_resources')
  expect(
    outputs()
      .slice(0, 4)
      .map((text) => JSON.parse(text)),
  ).toEqual([
    {
      resources: [
        { server: 'mini', uri: 'mini://a', name: 'a' },
        { server: 'mini', uri: 'mini://b', name: 'b' },
      ],
    },
    { server: 'mini', resources: [{ server: 'mini', uri: 'mini://b', name: 'b' }] },
    { server: 'mini', resourceTemplates: [{ server: 'mini', uriTemplate: 'mini://{name}', name: 'any' }] },
    { server: 'mini', uri: 'mini://a', contents: [{ uri: 'mini://a', text: 'text of mini://a' }] },
  ])
  expect(outputs().slice(4)).toEqual([
    expect.stringContaining('no resource other://a'),
    'no MCP server nobody has resources; there are mini',
    'a cursor needs the server it came from',
  ])
  const items = messages.flatMap((m) => (m.method === 'item/completed' ? [m.params.item] : []))
  const shown = items.filter(({ type }) => type === 'mcpToolCall')
  expect(shown.map(({ tool, status: how }) => [tool, how])).toEqual(
    calls.map(([tool], n) => [tool, n < 4 ? 'completed' : 'failed']),
  )
})
