/** `get_goal`, `create_goal`, `update_goal`: what the thread works towards. */
import type { ThreadGoal } from '../../../protocol/app-server/thread.ts'
import { GoalRefused, MODEL_STATUSES } from '../thread-goal.ts'
import type { ThreadRuntime } from '../thread-runtime.ts'
import { needText, readNumber } from '../tool-arguments.ts'
import { argumentsOf, ToolFailure, type ToolHandler, type ToolOutput } from '../tool-call.ts'

export function goalTools(thread: ThreadRuntime): [string, ToolHandler][] {
  const { goals } = thread.services
  const tool = (work: (args: Record<string, unknown>, turnId: string) => ThreadGoal | null): ToolHandler => ({
    parallel: false,
    run: (call, turn) => {
      try {
        return Promise.resolve(answer(work(argumentsOf(call), turn.id)))
      } catch (error) {
        throw error instanceof GoalRefused ? new ToolFailure(error.message) : error
      }
    },
  })
  return [
    ['get_goal', tool(() => goals.get(thread.id))],
    [
      'create_goal',
      tool((args, turnId) => {
        const objective = needText(args, 'objective').trim()
        if (objective === '') throw new ToolFailure('objective must not be empty')
        const budget = readNumber(args, 'token_budget') ?? null
        if (budget !== null && (budget < 1 || !Number.isInteger(budget)))
          throw new ToolFailure('token_budget must be a positive whole number')
        return goals.create(thread.id, turnId, objective, budget)
      }),
    ],
    [
      'update_goal',
      tool((args, turnId) => {
        const asked = needText(args, 'status')
        const status = MODEL_STATUSES.find((known) => known === asked)
        if (!status) throw new ToolFailure(`status must be one of ${MODEL_STATUSES.join(', ')}`)
        return goals.update(thread.id, turnId, status)
      }),
    ],
  ]
}

function answer(goal: ThreadGoal | null): ToolOutput {
  const remainingTokens = goal?.tokenBudget ? Math.max(0, goal.tokenBudget - goal.tokensUsed) : null
  return { content: JSON.stringify({ goal, remainingTokens }), success: true }
}
