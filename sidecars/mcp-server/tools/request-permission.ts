import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { AgentSession } from '../sessions/agent-session.ts'
import { underCallSignal } from './call-signal.ts'
import { withProgress } from './call-progress.ts'
import type { ToolScope } from './tool-scope.ts'

const input = z.object({
  tool_name: z.string().min(1).max(200).describe('The tool the agent wants to use'),
  input: z.record(z.string(), z.unknown()).describe('The arguments it wants to use it with'),
  tool_use_id: z.string().max(200).optional().describe("The agent's own id of the use"),
})
type Question = z.infer<typeof input>

/** The answer Claude Code reads: text content that is one of these objects and nothing else. */
type Answer = { behavior: 'allow'; updatedInput: Record<string, unknown> } | { behavior: 'deny'; message: string }

/**
 * The contract of Claude Code's `--permission-prompt-tool`: the agent asks us before it uses a tool of
 * its own. Whatever goes wrong is a deny.
 */
export function registerRequestPermission({ server, session }: ToolScope): void {
  server.registerTool(
    'request_permission',
    {
      title: 'Ask the owner',
      description:
        'Permission prompt for agents that ask before they use their own tools: answers {"behavior":"allow","updatedInput":…} or {"behavior":"deny","message":…} as the owner or a rule decided in Gatehouse. It runs nothing.',
      inputSchema: input,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    },
    async (question, context) => {
      const caller = session()
      const answer = await caller.during(() =>
        underCallSignal(context, (signal) => ask(caller, question, context, signal)),
      )
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] } satisfies CallToolResult
    },
  )
}

async function ask(
  caller: AgentSession,
  question: Question,
  context: ServerContext,
  signal: AbortSignal,
): Promise<Answer> {
  const { tool_name: toolName, input, tool_use_id: toolUseId } = question
  const asked = { sessionId: caller.id, toolCallId: toolUseId ?? String(context.mcpReq.id), toolName, input }
  try {
    const decision = await withProgress(
      context,
      () => 'waiting for approval in Gatehouse',
      () => caller.host.decide(asked, signal),
    )
    if (decision.verdict === 'allow') return { behavior: 'allow', updatedInput: input }
    return { behavior: 'deny', message: decision.reason ?? 'Denied in Gatehouse.' }
  } catch (error) {
    return {
      behavior: 'deny',
      message: `Gatehouse could not decide: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}
