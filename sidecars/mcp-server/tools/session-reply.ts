import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { answerWithTurn, threadResultShape } from './agent-threads-call.ts'
import { toolError, type ToolScope } from './tool-scope.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const prompt = z.string().min(1).max(1_000_000).describe('What to say next')

const DESCRIPTION =
  'Go on with a session that was started through this server, also one of an earlier day: says the prompt and answers with the last message. While a turn of it runs, the words steer that turn.'
const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

export function registerSessionReply(scope: ToolScope): void {
  scope.server.registerTool(
    'session_reply',
    {
      title: 'Reply to a session',
      description: DESCRIPTION,
      inputSchema: z.strictObject({ thread_id: z.string().describe('threadId of an earlier answer'), prompt }),
      outputSchema: threadResultShape,
      annotations: HINTS,
    },
    (words, context) => reply(scope, context, words.thread_id, words.prompt),
  )
}

/** The names of the Codex MCP server; `conversationId` is an older one for the same. */
export function registerCodexReply(scope: ToolScope): void {
  scope.server.registerTool(
    'codex-reply',
    {
      title: 'Codex reply',
      description: `The same as session_reply. ${DESCRIPTION}`,
      inputSchema: z.object({
        prompt,
        threadId: z.string().optional().describe('threadId of an earlier answer'),
        conversationId: z.string().optional().describe('Older name of threadId'),
      }),
      outputSchema: threadResultShape,
      annotations: HINTS,
    },
    async (words, context) => {
      const threadId = words.threadId ?? words.conversationId
      if (threadId === undefined) return toolError('threadId: give the threadId of an earlier answer')
      return reply(scope, context, threadId, words.prompt, true)
    },
  )
}

async function reply(
  { session }: ToolScope,
  context: ServerContext,
  threadId: string,
  words: string,
  tellsEvents = false,
): Promise<CallToolResult> {
  if (!UUID.test(threadId)) return toolError(`thread id ${JSON.stringify(threadId.slice(0, 100))} is not a UUID`)
  const caller = session()
  return await answerWithTurn(
    caller,
    context,
    threadId,
    (threads, watch) => threads.reply(caller.facts.agentName, threadId, words, watch),
    { tellsEvents },
  )
}
