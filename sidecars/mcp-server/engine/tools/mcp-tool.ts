/** A tool of a configured MCP server; asked about unless it only reads. */
import type { McpToolCallItem } from '../../../protocol/app-server/thread-item.ts'
import type { ActiveTurn } from '../active-turn.ts'
import type { McpCallResult, McpElicitation, McpToolSpec } from '../mcp-tools.ts'
import { truncateMiddle, DEFAULT_OUTPUT_TOKENS } from '../output-text.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, TurnStop, type ToolHandler, type ToolOutput } from '../tool-call.ts'

export function mcpTool(thread: ThreadRuntime, spec: McpToolSpec): ToolHandler {
  return {
    parallel: spec.readOnly,
    run: async (call, turn, signal) => {
      const args = argumentsOf(call)
      const startedMs = thread.services.nowMs()
      const item: McpToolCallItem = {
        type: 'mcpToolCall',
        id: call.callId,
        server: spec.server,
        tool: spec.tool,
        arguments: args,
        status: 'inProgress',
        result: null,
        error: null,
        readOnlyHint: spec.readOnly,
        durationMs: null,
      }
      const startedAtMs = thread.beginItem(turn.id, item)
      const end = (more: Partial<McpToolCallItem>) =>
        thread.finishItem(turn.id, { ...item, ...more, durationMs: thread.services.nowMs() - startedMs }, startedAtMs)
      try {
        await approve(thread, turn, spec, args, signal)
        const result = await thread.services.mcp.call(thread.id, spec, args, {
          signal,
          onProgress: (message) =>
            thread.emit('item/mcpToolCall/progress', {
              threadId: thread.id,
              turnId: turn.id,
              itemId: call.callId,
              message,
            }),
          onElicitation: (elicitation) => elicit(thread, turn, elicitation, signal),
        })
        end({
          status: result.isError ? 'failed' : 'completed',
          result: {
            content: result.content,
            structuredContent: result.structuredContent ?? null,
            _meta: result.meta ?? null,
          },
        })
        return outputOf(result, thread.services.nowMs() - startedMs)
      } catch (error) {
        end({ status: 'failed', error: { message: (error as Error).message } })
        signal.throwIfAborted()
        if (error instanceof ToolFailure || error instanceof TurnStop) throw error
        throw new ToolFailure(`tool call error: ${spec.server} ${spec.tool}: ${(error as Error).message}`)
      }
    },
  }
}

async function approve(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  spec: McpToolSpec,
  args: Record<string, unknown>,
  signal: AbortSignal,
): Promise<void> {
  const key = `${spec.server} ${spec.tool}`
  if (spec.readOnly || turn.settings.sandboxPolicy.type === 'dangerFullAccess' || thread.approvals.mcpTools.has(key))
    return
  if (turn.settings.approvalPolicy === 'never')
    throw new ToolFailure('MCP tool call requires approval, but approval policy is never')
  const answer = await thread
    .ask(
      'mcpServer/elicitation/request',
      {
        threadId: thread.id,
        turnId: turn.id,
        serverName: spec.server,
        environmentId: 'local',
        mode: 'form',
        message: `Allow the ${spec.server} MCP server to run tool "${spec.tool}"?`,
        requestedSchema: { type: 'object', properties: {} },
        _meta: {
          codex_approval_kind: 'mcp_tool_call',
          persist: ['session', 'always'],
          tool_name: spec.tool,
          tool_annotations: spec.annotations,
          tool_description: spec.description,
          tool_params: args,
          tool_params_display: Object.entries(args).map(([name, value]) => ({ name, value, display_name: name })),
        },
      },
      signal,
      'waitingOnApproval',
      { subject: { kind: 'toolUse', toolName: `${spec.server}/${spec.tool}`, input: args } },
    )
    .catch((error: unknown) => {
      signal.throwIfAborted()
      throw new ToolFailure(`user rejected MCP tool call: approval could not be obtained: ${(error as Error).message}`)
    })
  if (answer.action === 'cancel') throw new TurnStop('cancelled by the user')
  if (answer.action !== 'accept')
    throw new ToolFailure(`user rejected MCP tool call${answer.words ? `: ${answer.words}` : ''}`)
  const persist = (answer._meta as { persist?: unknown } | null)?.persist
  if (persist === 'session' || persist === 'always') thread.approvals.mcpTools.add(key)
}

async function elicit(
  thread: ThreadRuntime,
  turn: ActiveTurn,
  elicitation: McpElicitation,
  signal: AbortSignal,
): Promise<{ action: 'accept' | 'decline' | 'cancel'; content: unknown }> {
  if (turn.settings.approvalPolicy === 'never') return { action: 'decline', content: null }
  try {
    const answer = await thread.ask(
      'mcpServer/elicitation/request',
      {
        ...elicitation.params,
        threadId: thread.id,
        turnId: turn.id,
        serverName: elicitation.server,
        environmentId: 'local',
        mode: elicitation.mode,
        message: elicitation.message,
        _meta: null,
      },
      signal,
      'waitingOnUserInput',
    )
    return answer.action === 'accept'
      ? { action: 'accept', content: answer.content ?? {} }
      : { action: answer.action, content: null }
  } catch {
    return { action: 'cancel', content: null }
  }
}

function outputOf(result: McpCallResult, elapsedMs: number): ToolOutput {
  const wall = `Wall time: ${(elapsedMs / 1000).toFixed(4)} seconds\nOutput:`
  if (result.structuredContent !== null && result.structuredContent !== undefined)
    return {
      content: `${wall}\n${truncateMiddle(JSON.stringify(result.structuredContent), DEFAULT_OUTPUT_TOKENS)}`,
      success: !result.isError,
    }
  const parts = (result.content as { type?: string; text?: string; data?: string; mimeType?: string }[]).map((part) =>
    part.type === 'image'
      ? { type: 'input_image', image_url: `data:${part.mimeType};base64,${part.data}` }
      : {
          type: 'input_text',
          text: truncateMiddle(part.type === 'text' ? (part.text ?? '') : JSON.stringify(part), DEFAULT_OUTPUT_TOKENS),
        },
  )
  return { content: [{ type: 'input_text', text: wall }, ...parts], success: !result.isError }
}
