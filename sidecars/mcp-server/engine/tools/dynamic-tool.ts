/** A tool that the client brought along and runs itself. */
import type { DynamicToolCallItem } from '../../../protocol/app-server/thread-item.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'

export function dynamicTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: false,
    run: async (call, turn, signal) => {
      const args = argumentsOf(call)
      const startedMs = thread.services.nowMs()
      const item: DynamicToolCallItem = {
        type: 'dynamicToolCall',
        id: call.callId,
        namespace: call.namespace,
        tool: call.name,
        arguments: args,
        status: 'inProgress',
        contentItems: null,
        success: null,
        durationMs: null,
      }
      const startedAtMs = thread.beginItem(turn.id, item)
      const end = (status: DynamicToolCallItem['status'], contentItems: unknown[] | null, success: boolean) =>
        thread.finishItem(
          turn.id,
          { ...item, status, contentItems, success, durationMs: thread.services.nowMs() - startedMs },
          startedAtMs,
        )
      try {
        const answer = await thread.ask(
          'item/tool/call',
          {
            threadId: thread.id,
            turnId: turn.id,
            callId: call.callId,
            namespace: call.namespace,
            tool: call.name,
            arguments: args,
          },
          signal,
          'waitingOnUserInput',
        )
        end(answer.success ? 'completed' : 'failed', answer.contentItems, answer.success)
        return { content: contentOf(answer.contentItems), success: answer.success }
      } catch (error) {
        end('failed', null, false)
        signal.throwIfAborted()
        throw new ToolFailure(`${call.name} was not answered by the client: ${(error as Error).message}`)
      }
    },
  }
}

function contentOf(items: unknown[]): string | Record<string, unknown>[] {
  const parts = items as { type?: string; text?: string; imageUrl?: string }[]
  if (parts.every((part) => part.type === 'inputText')) return parts.map((part) => part.text ?? '').join('\n')
  return parts.map((part) =>
    part.type === 'inputImage'
      ? { type: 'input_image', image_url: part.imageUrl }
      : { type: 'input_text', text: part.text ?? '' },
  )
}
