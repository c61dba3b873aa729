import { fromJsonSchema, type McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { IMAGE, SOUND, text } from './suite-values.ts'

/** Runs without arguments. */
type Plain = (context: ServerContext) => ReturnType<typeof text> | Promise<ReturnType<typeof text>>

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs))

const PLAIN: Record<string, Plain> = {
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [IMAGE] }),
  test_audio_content: () => ({ content: [SOUND] }),
  test_embedded_resource: () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      IMAGE,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }),
  test_error_handling: () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  test_tool_with_progress: async ({ mcpReq }) => {
    const { _meta: meta } = mcpReq
    for (const progress of [0, 50, 100]) {
      if (meta?.progressToken !== undefined)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: meta.progressToken, progress, total: 100 },
        })
      await pause(20)
    }
    return text('told')
  },
  test_tool_with_logging: logThrice,
  test_logging_tool: logThrice,
}

async function logThrice({ mcpReq }: ServerContext): Promise<ReturnType<typeof text>> {
  for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await mcpReq.log('info', line)
    await pause(20)
  }
  return text('logged')
}

/** Every keyword of JSON Schema 2020-12 that the suite looks for in the listing. */
const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}
const HEADER_SCHEMA = {
  type: 'object' as const,
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  required: ['region'],
}

/** Tools that only answer. `changed` publishes that a list has changed. */
export function registerContentTools(server: McpServer, changed: (list: 'tools' | 'prompts') => void): void {
  for (const [name, answer] of Object.entries(PLAIN))
    server.registerTool(name, { description: `${name} of the suite` }, answer)
  for (const list of ['tools', 'prompts'] as const)
    server.registerTool(
      `test_trigger_${list.slice(0, -1)}_change`,
      { description: `Says that the ${list} changed` },
      () => {
        changed(list)
        return text('changed')
      },
    )
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Has a schema with every keyword', inputSchema: fromJsonSchema(SCHEMA_2020_12) },
    (args) => text(JSON.stringify(args)),
  )
  server.registerTool(
    'test_custom_header_tool',
    {
      description: 'Has an argument that travels as a header',
      inputSchema: fromJsonSchema<{ region: string }>(HEADER_SCHEMA),
    },
    ({ region }) => text(`region=${region}`),
  )
}
