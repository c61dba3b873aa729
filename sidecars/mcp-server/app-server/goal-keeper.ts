/** Goals of threads: set by people and models, counted with every response, gone on with until they are reached. */
import type { Emit, NotificationMap } from '../../protocol/app-server/notifications.ts'
import type { GoalStatus, ThreadGoal, TokenUsageBreakdown } from '../../protocol/app-server/thread.ts'
import { GoalRefused, type ThreadGoals } from '../engine/thread-goal.ts'
import { TurnRefused } from '../engine/turn-refused.ts'
import type { ThreadKeeper } from './thread-keeper.ts'
import type { LoadedThread, ThreadManager } from './thread-manager.ts'
import { invalidRequest } from './wire-error.ts'

/** So many turns in a row that only talk are taken for being stuck: nobody watches what they cost. */
const MAX_IDLE_TURNS = 3
/** These do something; others only say something. */
const WORDS = new Set(['userMessage', 'agentMessage', 'reasoning'])

export interface GoalChange {
  objective?: string
  status?: GoalStatus
  tokenBudget?: number | null
}

/** Owned by the server, which lets it hear every notification. */
export class GoalKeeper implements ThreadGoals {
  /** By thread: whether the running turn did something, and how many before it did not. */
  private readonly progress = new Map<string, { isDoing: boolean; idleTurns: number }>()

  constructor(
    private readonly threads: ThreadManager,
    private readonly keeper: ThreadKeeper,
    private readonly nowMs: () => number,
  ) {}

  get(threadId: string): ThreadGoal | null {
    return this.threads.get(threadId)?.extras.goal ?? null
  }

  create(threadId: string, turnId: string, objective: string, tokenBudget: number | null): ThreadGoal {
    const thread = this.threads.need(threadId)
    const before = thread.extras.goal
    if (before && before.status !== 'complete')
      throw new GoalRefused('this thread has a goal that is not reached; complete it first')
    return this.put(thread, this.newGoal(threadId, objective, tokenBudget), turnId)
  }

  update(threadId: string, turnId: string, status: GoalStatus): ThreadGoal {
    const thread = this.threads.need(threadId)
    if (!thread.extras.goal) throw new GoalRefused('this thread has no goal')
    return this.put(thread, { ...thread.extras.goal, status }, turnId)
  }

  /** A person's change; what is left out stays. An active goal is gone on with at once. @throws WireError */
  set(thread: LoadedThread, change: GoalChange): ThreadGoal {
    const { goal } = thread.extras
    const objective = change.objective?.trim()
    if (objective === '') throw invalidRequest('objective must not be empty')
    if (!goal && objective === undefined) throw invalidRequest('objective: this thread has no goal yet; name one')
    const before = goal ?? this.newGoal(thread.session.id, objective!, null)
    this.progress.delete(thread.session.id)
    return this.put(thread, {
      ...before,
      ...(objective !== undefined && { objective }),
      ...(change.status !== undefined && { status: change.status }),
      ...(change.tokenBudget !== undefined && { tokenBudget: change.tokenBudget }),
    })
  }

  clear(thread: LoadedThread): void {
    this.progress.delete(thread.session.id)
    this.keeper.setGoal(thread, null)
  }

  /** Goes on with an active goal when the thread is free. */
  goOn(thread: LoadedThread): void {
    const { goal, queue, queuePaused } = thread.extras
    const waits = queue.length > 0 && !queuePaused
    if (goal?.status !== 'active' || waits || thread.session.settings.collaborationMode?.mode === 'plan') return
    const input = { input: [], clientId: null, additionalContext: { goal: { value: continuation(goal) } } }
    thread.session.startIfIdle(input).catch((error: unknown) => {
      if (!(error instanceof TurnRefused)) throw error // Something else began; its end comes back here.
    })
  }

  /** Called when a turn has ended and nothing else has begun. */
  turnEnded(thread: LoadedThread, how: 'completed' | 'interrupted' | 'failed'): void {
    const { goal } = thread.extras
    if (goal?.status !== 'active') return
    // Whoever interrupts wants it to stop.
    if (how === 'interrupted') return void this.put(thread, { ...goal, status: 'paused' })
    if (how === 'failed') return
    const progress = this.progressOf(thread.session.id)
    progress.idleTurns = progress.isDoing ? 0 : progress.idleTurns + 1
    progress.isDoing = false
    if (progress.idleTurns >= MAX_IDLE_TURNS) {
      thread.session.warn(
        `The goal is set to blocked: ${MAX_IDLE_TURNS} turns went by in which nothing was done. Set it to active to go on.`,
      )
      return void this.put(thread, { ...goal, status: 'blocked' })
    }
    this.goOn(thread)
  }

  /** Hears what the threads do. */
  readonly notified: Emit = (method, params) => {
    const { threadId } = params as { threadId?: string | null }
    if (typeof threadId !== 'string') return
    const thread = this.threads.get(threadId)
    const goal = thread?.extras.goal
    if (!thread || goal?.status !== 'active') return
    if (method === 'thread/tokenUsage/updated') {
      const { turnId, tokenUsage } = params as NotificationMap['thread/tokenUsage/updated']
      const tokensUsed = goal.tokensUsed + costOf(tokenUsage.last)
      const isOver = goal.tokenBudget !== null && tokensUsed >= goal.tokenBudget
      this.put(thread, { ...goal, tokensUsed, ...(isOver && { status: 'budgetLimited' as const }) }, turnId)
    } else if (method === 'turn/completed') {
      const { turn } = params as NotificationMap['turn/completed']
      const timeUsedSeconds = goal.timeUsedSeconds + Math.round((turn.durationMs ?? 0) / 1000)
      const isOver = turn.status === 'failed' && turn.error?.codexErrorInfo === 'usageLimitExceeded'
      if (timeUsedSeconds !== goal.timeUsedSeconds || isOver)
        this.put(thread, { ...goal, timeUsedSeconds, ...(isOver && { status: 'usageLimited' as const }) }, turn.id)
    } else if (method === 'item/completed') {
      const { item } = params as NotificationMap['item/completed']
      if (!WORDS.has(item.type)) this.progressOf(threadId).isDoing = true
    }
  }

  private progressOf(threadId: string): { isDoing: boolean; idleTurns: number } {
    let progress = this.progress.get(threadId)
    if (!progress) this.progress.set(threadId, (progress = { isDoing: false, idleTurns: 0 }))
    return progress
  }

  private newGoal(threadId: string, objective: string, tokenBudget: number | null): ThreadGoal {
    const createdAt = Math.floor(this.nowMs() / 1000)
    const used = { tokensUsed: 0, timeUsedSeconds: 0 }
    return { threadId, objective, status: 'active', tokenBudget, ...used, createdAt, updatedAt: createdAt }
  }

  private put(thread: LoadedThread, goal: ThreadGoal, turnId: string | null = null): ThreadGoal {
    const changed = { ...goal, threadId: thread.session.id, updatedAt: Math.floor(this.nowMs() / 1000) }
    this.keeper.setGoal(thread, changed, turnId)
    return changed
  }
}

/** What a response costs: what was read from a cache costs next to nothing. */
const costOf = ({ inputTokens, cachedInputTokens, outputTokens }: TokenUsageBreakdown): number =>
  Math.max(0, inputTokens - cachedInputTokens) + outputTokens

function continuation({ objective, tokenBudget, tokensUsed }: ThreadGoal): string {
  const budget = tokenBudget === null ? '' : ` ${tokensUsed} of ${tokenBudget} tokens are used.`
  return `Go on towards the goal of this session:\n${objective}\nLook at how things stand before you act. When all of it is reached and you have checked that, call update_goal with complete; when you cannot go on without the person, with blocked.${budget}`
}
