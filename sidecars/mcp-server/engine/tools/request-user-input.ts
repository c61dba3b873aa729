/** `request_user_input`: asks the person one to three questions. */
import type { ServerRequestMap } from '../../../protocol/app-server/server-requests.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'

type Question = ServerRequestMap['item/tool/requestUserInput']['params']['questions'][number]

export function requestUserInputTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: false,
    run: async (call, turn, signal) => {
      if (turn.settings.collaborationMode?.mode !== 'plan')
        throw new ToolFailure('request_user_input is unavailable in Default mode')
      const questions = questionsOf(argumentsOf(call).questions)
      const answer = await thread
        .ask(
          'item/tool/requestUserInput',
          {
            threadId: thread.id,
            turnId: turn.id,
            itemId: call.callId,
            questions,
            isBlocking: true,
            autoResolutionMs: null,
          },
          signal,
          'waitingOnUserInput',
        )
        .catch((error: unknown) => {
          signal.throwIfAborted()
          throw new ToolFailure(`the questions were not answered: ${(error as Error).message}`)
        })
      const { answers, words } = answer
      return { content: JSON.stringify({ answers, ...(words && { message: words }) }), success: true }
    },
  }
}

function questionsOf(value: unknown): Question[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new ToolFailure('failed to parse function arguments: missing field `questions`')
  return value.map((entry: unknown) => {
    const q = (entry ?? {}) as Partial<Record<'id' | 'header' | 'question', unknown>> & {
      options?: unknown
      isSecret?: unknown
    }
    if (typeof q.id !== 'string' || typeof q.question !== 'string')
      throw new ToolFailure('failed to parse function arguments: each question has an id and a question')
    return {
      id: q.id,
      header: typeof q.header === 'string' ? q.header : '',
      question: q.question,
      isOther: true,
      isSecret: q.isSecret === true,
      options: Array.isArray(q.options) ? (q.options as { label: string; description: string }[]) : null,
    }
  })
}
