/** `update_plan`: the model's checklist, shown to people. */
import type { ThreadRuntime } from '../thread-runtime.ts'
import { argumentsOf, ToolFailure, type ToolHandler } from '../tool-call.ts'
import { readText } from '../tool-arguments.ts'

const STATUS = { pending: 'pending', in_progress: 'inProgress', completed: 'completed' } as const

export function updatePlanTool(thread: ThreadRuntime): ToolHandler {
  return {
    parallel: false,
    run: (call, turn) => {
      const args = argumentsOf(call)
      if (!Array.isArray(args.plan)) throw new ToolFailure('failed to parse function arguments: missing field `plan`')
      const plan = args.plan.map((entry: unknown) => {
        const { step, status } = (entry ?? {}) as { step?: unknown; status?: unknown }
        if (typeof step !== 'string' || typeof status !== 'string' || !(status in STATUS))
          throw new ToolFailure(
            'failed to parse function arguments: each plan entry has a step and a status of pending, in_progress or completed',
          )
        return { step, status: STATUS[status as keyof typeof STATUS] }
      })
      if (plan.filter((entry) => entry.status === 'inProgress').length > 1)
        throw new ToolFailure('failed to parse function arguments: at most one step can be in_progress')
      thread.emit('turn/plan/updated', {
        threadId: thread.id,
        turnId: turn.id,
        explanation: readText(args, 'explanation') ?? null,
        plan,
      })
      return Promise.resolve({ content: 'Plan updated', success: true })
    },
  }
}
