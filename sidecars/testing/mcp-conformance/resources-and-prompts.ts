import { completable, inputRequired, ResourceTemplate, type McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { IMAGE, PNG_BASE64 } from './suite-values.ts'

export function registerResources(server: McpServer): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { mimeType: 'text/plain', description: 'Text that never changes' },
    ({ href }) => ({
      contents: [{ uri: href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }),
  )
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png', description: 'Bytes that never change' },
    ({ href }) => ({ contents: [{ uri: href, mimeType: 'image/png', blob: PNG_BASE64 }] }),
  )
  server.registerResource(
    'watched',
    'test://watched-resource',
    { description: 'Can be subscribed to' },
    ({ href }) => ({
      contents: [{ uri: href, text: 'watched' }],
    }),
  )
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json', description: 'One for every id' },
    ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  )
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const)
    server.server.setRequestHandler(method, async () => ({}))
}

const said = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })

export function registerPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'One message' }, () => ({
    messages: [said('This is a simple prompt for testing.')],
  }))
  const argsSchema = z.object({
    arg1: completable(z.string(), () => ['paris', 'park', 'party']),
    arg2: z.string(),
  })
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Two arguments', argsSchema },
    ({ arg1, arg2 }) => ({
      messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource in a message', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        said('Please process the embedded resource above.'),
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'An image in a message' }, () => ({
    messages: [{ role: 'user', content: IMAGE }, said('Please analyze the image above.')],
  }))
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks first' }, ({ mcpReq }) => {
    const given = mcpReq.inputResponses?.user_context as { content?: { context?: unknown } } | undefined
    if (given) return { messages: [said(`context: ${String(given.content?.context)}`)] }
    const question = inputRequired.elicit({
      message: 'What context should the prompt use?',
      requestedSchema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
    })
    return inputRequired({ inputRequests: { user_context: question } })
  })
}
