/** `thread/queue/*`, `thread/goal/*`, memory mode, and search over threads. */
import { array, integer, literal, object, optional, string, unknown } from '../../../protocol/decode.ts'
import type { UserInput } from '../../../protocol/app-server/thread-item.ts'
import { method, threadQueue, type Method } from '../method-table.ts'
import { invalidRequest } from '../wire-error.ts'
import type { ServerContext } from './server-context.ts'
import { limitOf } from './thread-lifecycle.ts'
import { userInput } from './user-input-decoder.ts'

const SNIPPET_CHARACTERS = 160

export function keepingMethods(context: ServerContext): Record<string, Method> {
  const { threads, keeper } = context
  const experimental = { experimental: true, queue: threadQueue }
  const entryOf = object({ threadId: string, queuedSubmissionId: string })
  return {
    'thread/queue/add': method(
      object({ threadId: string, input: array(userInput), clientUserMessageId: optional(string) }),
      {
        ...experimental,
        run: ({ threadId, input, clientUserMessageId }) => {
          if (input.length === 0) throw invalidRequest('input must not be empty')
          return { queuedSubmission: keeper.add(threads.need(threadId), input, clientUserMessageId ?? null) }
        },
      },
    ),
    'thread/queue/list': method(object({ threadId: string }), {
      ...experimental,
      run: ({ threadId }) => {
        const { queue, queuePaused } = threads.need(threadId).extras
        return { data: queue, paused: queuePaused }
      },
    }),
    'thread/queue/update': method(object({ threadId: string, queuedSubmissionId: string, input: array(userInput) }), {
      ...experimental,
      run: ({ threadId, queuedSubmissionId, input }) => ({
        queuedSubmission: keeper.update(threads.need(threadId), queuedSubmissionId, input as UserInput[]),
      }),
    }),
    'thread/queue/delete': method(entryOf, {
      ...experimental,
      run: ({ threadId, queuedSubmissionId }) => {
        keeper.remove(threads.need(threadId), queuedSubmissionId)
        return {}
      },
    }),
    'thread/queue/reorder': method(object({ threadId: string, queuedSubmissionIds: array(string) }), {
      ...experimental,
      run: ({ threadId, queuedSubmissionIds }) => {
        keeper.reorder(threads.need(threadId), queuedSubmissionIds)
        return { data: threads.need(threadId).extras.queue }
      },
    }),
    'thread/queue/start': method(entryOf, {
      ...experimental,
      run: async ({ threadId, queuedSubmissionId }) => ({
        turn: await keeper.start(threads.need(threadId), queuedSubmissionId),
      }),
    }),
    'thread/goal/get': method(object({ threadId: string }), {
      queue: threadQueue,
      run: ({ threadId }) => ({ goal: threads.need(threadId).extras.goal }),
    }),
    'thread/goal/set': method(
      object({
        threadId: string,
        objective: optional(string),
        status: optional(literal('active', 'paused', 'blocked', 'usageLimited', 'budgetLimited', 'complete')),
        tokenBudget: optional(integer(1)),
      }),
      {
        queue: threadQueue,
        run: ({ threadId, objective, status, tokenBudget }, { after }) => {
          const thread = threads.need(threadId)
          const goal = context.goals.set(thread, { objective, status, tokenBudget })
          after(() => context.goals.goOn(thread))
          return { goal }
        },
      },
    ),
    'thread/goal/clear': method(object({ threadId: string }), {
      queue: threadQueue,
      run: ({ threadId }) => {
        const thread = threads.need(threadId)
        const cleared = thread.extras.goal !== null
        context.goals.clear(thread)
        return { cleared }
      },
    }),
    // A turn has no clock of its own here that could run out meanwhile.
    'thread/increment_elicitation': method(object({ threadId: string }), {
      ...experimental,
      run: ({ threadId }) => keeper.countElicitations(threads.need(threadId), 1),
    }),
    'thread/decrement_elicitation': method(object({ threadId: string }), {
      ...experimental,
      run: ({ threadId }) => keeper.countElicitations(threads.need(threadId), -1),
    }),
    'thread/memoryMode/set': method(object({ threadId: string, mode: literal('enabled', 'disabled') }), {
      ...experimental,
      run: async ({ threadId, mode }) => {
        await keeper.setMemoryMode(threads.need(threadId), mode)
        return {}
      },
    }),
    'thread/search': method(
      object({ searchTerm: string, limit: optional(integer(1)), cursor: optional(string), archived: unknown }),
      {
        experimental: true,
        run: async ({ searchTerm, limit, cursor, archived }) => {
          const found = await context.store.list(
            {
              archived: archived === true,
              sort: 'updated_at',
              descending: true,
              limit: limitOf(limit),
              modelProviders: null,
              sources: null,
              cwds: null,
              searchTerm,
              parentId: null,
              ancestorId: null,
              originators: null,
              projectId: null,
              includedIds: null,
              excludedIds: null,
            },
            cursor ?? null,
          )
          const data = found.threads.map((stored) => ({
            thread: context.viewStored(stored),
            snippet: snippetOf(stored.name ?? stored.preview, searchTerm),
          }))
          return { data, nextCursor: found.nextCursor }
        },
      },
    ),
    'mcpServer/tool/call': method(object({ threadId: string, server: string, tool: string, arguments: unknown }), {
      run: async ({ threadId, server, tool, arguments: args }) => {
        const spec = (await context.mcp.list(threadId)).find((known) => known.server === server && known.tool === tool)
        if (!spec) throw invalidRequest(`unknown MCP tool ${tool} of server ${server}`)
        const result = await context.mcp.call(threadId, spec, (args ?? {}) as Record<string, unknown>, {
          signal: new AbortController().signal,
          onProgress: () => undefined, // Nobody asked for it.
          onElicitation: () => Promise.resolve({ action: 'decline', content: null }),
        })
        return {
          content: result.content,
          structuredContent: result.structuredContent,
          isError: result.isError,
          _meta: result.meta,
        }
      },
    }),
  }
}

function snippetOf(text: string, term: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(term.toLowerCase()) - SNIPPET_CHARACTERS / 4)
  return text.slice(at, at + SNIPPET_CHARACTERS)
}
