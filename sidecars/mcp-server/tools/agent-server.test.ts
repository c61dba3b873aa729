import { expect, test } from 'vitest'
import { attachAgent } from '../../testing/attached-agent.ts'
import { HeldGate } from '../../testing/local-exec.ts'
import { ERAS, factsOf } from '../../testing/mcp-line-client.ts'

interface ToolSchema {
  type?: string
  properties?: Record<string, ToolSchema>
  [keyword: string]: unknown
}

test.each(ERAS)('A11 M22 the tools are few, short-named, flatly typed and always in one order (%s)', async (era) => {
  const agent = await attachAgent(era)
  const { tools } = await agent.client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'run_command',
    'get_result',
    'read_output',
    'write_stdin',
    'stop_process',
    'list_processes',
    'request_permission',
    'session_start',
    'session_reply',
    'codex',
    'codex-reply',
    'status',
  ])
  for (const { name, description, inputSchema } of tools) {
    expect(name).toMatch(/^[a-z_-]{1,24}$/)
    expect(Buffer.byteLength(description ?? '')).toBeGreaterThan(40)
    expect(Buffer.byteLength(description ?? '')).toBeLessThan(1024)
    const schema = inputSchema as ToolSchema
    expect(schema.type).toBe('object')
    for (const keyword of ['anyOf', 'oneOf', 'allOf', '$ref', '$defs'])
      expect(JSON.stringify(schema)).not.toContain(`"${keyword}"`)
    for (const [property, { type }] of Object.entries(schema.properties ?? {}))
      expect(type, `${name}.${property}`).toMatch(/^(string|integer|boolean|array|object)$/)
  }
  await agent.dispose()
})

test('the hints say truthfully what a tool can do', async () => {
  const agent = await attachAgent('legacy')
  const { tools } = await agent.client.listTools()
  const named = (hint: 'readOnlyHint' | 'destructiveHint' | 'openWorldHint') =>
    tools.filter(({ annotations }) => annotations?.[hint] === true).map(({ name }) => name)
  expect({
    readOnly: named('readOnlyHint'),
    destructive: named('destructiveHint'),
    open: named('openWorldHint'),
  }).toEqual({
    readOnly: ['get_result', 'read_output', 'list_processes', 'request_permission', 'status'],
    destructive: [
      'run_command',
      'write_stdin',
      'stop_process',
      'session_start',
      'session_reply',
      'codex',
      'codex-reply',
    ],
    open: ['run_command', 'write_stdin', 'session_start', 'session_reply', 'codex', 'codex-reply'],
  })
  await agent.dispose()
})

test('A7 what was not declared is an unknown method, and an unknown tool a protocol error', async () => {
  const agent = await attachAgent('legacy')
  const { client } = agent
  await expect(client.request({ method: 'resources/list' })).rejects.toMatchObject({ code: -32601 })
  await expect(client.request({ method: 'prompts/list' })).rejects.toMatchObject({ code: -32601 })
  await expect(client.setLoggingLevel('debug')).rejects.toThrow()
  await expect(agent.call('launch_missiles')).rejects.toMatchObject({ code: -32602 })
  await agent.dispose()
})

test('A6 elicitation is never used, even with a client that offers it and would say yes', async () => {
  const agent = await attachAgent('legacy', { capabilities: { elicitation: { form: {}, url: {} } } })
  let asked = 0
  agent.client.setRequestHandler('elicitation/create', async () => {
    asked++
    return { action: 'accept', content: { approved: true } }
  })
  const gate = new HeldGate()
  agent.exec.gate = gate.ask
  const waiting = await agent.call('run_command', { shell: 'echo x', yieldMs: 200 })
  expect({ asked, status: factsOf(waiting).status }).toEqual({ asked: 0, status: 'awaiting_approval' })
  await agent.dispose()
})
