/** The goal of a thread, as its model may see and change it. */
import type { GoalStatus, ThreadGoal } from '../../protocol/app-server/thread.ts'

/** What a model may make of a goal; the rest is the person's, or follows from what was used. */
export const MODEL_STATUSES = ['complete', 'blocked', 'paused'] as const satisfies readonly GoalStatus[]

export interface ThreadGoals {
  get(threadId: string): ThreadGoal | null
  /** @throws GoalRefused while there is one that is not complete */
  create(threadId: string, turnId: string, objective: string, tokenBudget: number | null): ThreadGoal
  /** @throws GoalRefused when there is none */
  update(threadId: string, turnId: string, status: (typeof MODEL_STATUSES)[number]): ThreadGoal
}

/** The goal cannot be what was asked; the words are for the model. */
export class GoalRefused extends Error {
  override readonly name = 'GoalRefused'
}
