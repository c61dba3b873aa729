/** What the tools that start and continue Gatehouse's own sessions have in common. */
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { AgentThreads, AgentTurn, TurnWatch } from '../app-server/agent-threads.ts'
import type { AgentSession } from '../sessions/agent-session.ts'
import { withProgress } from './call-progress.ts'
import { underCallSignal } from './call-signal.ts'
import { toolError } from './tool-scope.ts'

export const threadResultShape = z.object({
  threadId: z.string().describe('The session; give it to the reply tool to go on'),
  content: z.string().describe('The last message of the session'),
})

/**
 * Runs one turn for a call and answers it in every case: done, failed, interrupted, denied, cancelled. A
 * call that is given up interrupts the turn.
 */
export async function answerWithTurn(
  caller: AgentSession,
  context: ServerContext,
  threadId: string | null,
  work: (threads: AgentThreads, watch: TurnWatch) => Promise<AgentTurn>,
  { tellsEvents = false }: { tellsEvents?: boolean } = {},
): Promise<CallToolResult> {
  const { threads } = caller
  if (!threads) return toolError('Sessions need a Gatehouse host; connect with `gatehouse mcp`.')
  return await caller.during(() =>
    underCallSignal(context, async (signal) => {
      let state = 'starting'
      try {
        return await withProgress(
          context,
          () => state,
          async (changed) => {
            const onState = (words: string) => {
              state = words
              changed()
            }
            return resultOf(
              await work(await threads(), { signal, onState, ...(tellsEvents && { onEvent: eventTeller(context) }) }),
            )
          },
        )
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error)
        return threadId === null ? toolError(text) : resultOf({ threadId, content: text, failed: true })
      }
    }),
  )
}

/** `codex/event`, as clients of the Codex MCP server know it. */
function eventTeller(context: ServerContext): NonNullable<TurnWatch['onEvent']> {
  const requestId = context.mcpReq.id
  return (threadId, { turnId, message }) => {
    const params = { _meta: { requestId, threadId }, id: turnId, msg: message }
    // A client that is gone ends the call by its signal.
    context.mcpReq.notify({ method: 'codex/event', params } as never).catch(() => {})
  }
}

function resultOf({ threadId, content, failed }: AgentTurn): CallToolResult {
  return {
    content: [{ type: 'text', text: content }],
    structuredContent: { threadId, content },
    ...(failed ? { isError: true } : {}),
  }
}
