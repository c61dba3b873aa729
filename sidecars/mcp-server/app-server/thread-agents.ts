/** Child agents of the server's threads: loaded threads below others, who may reach them, and how they stand. */
import type { Emit, NotificationMap } from '../../protocol/app-server/notifications.ts'
import type { AgentState, UserInput } from '../../protocol/app-server/thread-item.ts'
import { PLAIN_TURN, type ActiveTurn, type PendingInput } from '../engine/active-turn.ts'
import {
  AgentRefused,
  stateForModel,
  type AgentTask,
  type ChildAgents,
  type SpawnedAgent,
} from '../engine/child-agents.ts'
import { agentEnded } from '../engine/mailbox.ts'
import { withOverrides, type SettingsOverrides } from '../engine/thread-settings.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'
import { agentOf } from '../rollout/stored-thread.ts'
import type { ThreadStore } from '../rollout/thread-store.ts'
import { agentName } from './agent-names.ts'
import type { ConfigTable } from './config-file.ts'
import type { LoadedThread, ThreadManager } from './thread-manager.ts'

/** Open agents below one root thread, and how deep they go, unless `[agents]` says otherwise. */
const MAX_OPEN = 6
const MAX_DEPTH = 1

const PART_OF_A_WHOLE =
  'You work for another agent on a part of its task. Do that part and nothing else. Your last message is handed to it: say there what you found or changed, and where.'

const UNTOUCHED: AgentState = { status: 'pendingInit', message: null }
const NOT_FOUND: AgentState = { status: 'notFound', message: null }

export interface ThreadAgentsOptions {
  threads: ThreadManager
  store: ThreadStore
  emit: Emit
  /** Starts the MCP servers of a thread. */
  prepareMcp(threadId: string, config: ConfigTable): void
  /** Everybody who watches the one watches the other from now on. */
  shareSubscribers(fromThreadId: string, toThreadId: string): void
}

/** Owned by the server, which lets it hear every notification. */
export class ThreadAgents implements ChildAgents {
  /** Every child agent that was open in this process. */
  private readonly agents = new Map<string, { parentId: string; state: AgentState }>()
  private readonly listeners = new Set<() => void>()
  /** Ended by their parent, which need not be told of it. */
  private readonly closing = new Set<string>()

  constructor(private readonly options: ThreadAgentsOptions) {}

  allows(threadId: string): boolean {
    const thread = this.options.threads.get(threadId)
    if (!thread) return false
    const { enabled, maxDepth } = limitsOf(thread)
    return enabled && depthOf(thread) < maxDepth
  }

  async spawn(parentId: string, turn: ActiveTurn, task: AgentTask): Promise<SpawnedAgent> {
    const { threads, emit, prepareMcp, shareSubscribers } = this.options
    turn.signal.throwIfAborted()
    const parent = threads.need(parentId)
    const others = this.openBeside(parent)
    const nickname = agentName(new Set(others.flatMap(({ stored }) => agentOf(stored.source)?.nickname ?? [])))
    const settings = withOverrides(turn.settings, {
      ...(task.model !== null && { model: task.model }),
      ...(task.effort !== null && { effort: task.effort }),
    })
    const { developerInstructions } = parent.basis
    const child = threads.start({
      ...parent.basis,
      developerInstructions: [developerInstructions, PART_OF_A_WHOLE].filter(Boolean).join('\n\n'),
      // A client's tools belong to the thread it gave them to.
      dynamicTools: [],
      settings,
      threadSource: 'subagent',
      historyMode: parent.stored.historyMode,
      ephemeral: parent.ephemeral,
      agent: { parentId, sessionId: parent.stored.sessionId, depth: depthOf(parent) + 1, nickname },
    })
    const { id } = child.session
    this.agents.set(id, { parentId, state: UNTOUCHED })
    prepareMcp(id, child.liveConfig.current)
    shareSubscribers(parentId, id)
    emit('thread/started', { thread: threads.view(child) })
    if (task.forkContext) await child.session.inject(handedOn(parent.session.history.all(), task.model === null))
    await child.session.turnInput(plain(task.input), {}, { ...PLAIN_TURN, rootTurnId: turn.rootTurnId })
    return { id, nickname, model: settings.model, effort: settings.effort }
  }

  async send(
    callerId: string,
    turn: ActiveTurn,
    agentId: string,
    input: UserInput[],
    interrupt: boolean,
  ): Promise<string> {
    const { session } = this.reach(callerId, agentId)
    // It may end by itself just before.
    if (interrupt && session.activeTurn) await session.interrupt(null).catch(() => undefined)
    const options = { ...PLAIN_TURN, rootTurnId: turn.rootTurnId }
    const { id } = await session.turnInput(plain(input), rightsOf(turn), options)
    return id
  }

  state(callerId: string, agentId: string): AgentState {
    return (this.isBelow(callerId, agentId) ? this.agents.get(agentId)?.state : undefined) ?? NOT_FOUND
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close(callerId: string, agentId: string): Promise<AgentState> {
    const { session } = this.reach(callerId, agentId)
    const previous = this.state(callerId, agentId)
    this.closing.add(agentId)
    try {
      await this.options.threads.close(session.id)
    } finally {
      this.closing.delete(agentId)
    }
    return previous
  }

  async resume(callerId: string, turn: ActiveTurn, agentId: string): Promise<AgentState> {
    const { threads, store, prepareMcp, shareSubscribers } = this.options
    if (this.isBelow(callerId, agentId) && threads.get(agentId)) return this.state(callerId, agentId)
    if (!(await store.descendants(callerId)).includes(agentId)) throw unreachable(agentId)
    const caller = threads.need(callerId)
    this.openBeside(caller)
    const basis = { ...caller.basis, dynamicTools: [], defaults: turn.settings }
    const thread = await threads.resume(agentId, rightsOf(turn), basis)
    this.agents.set(agentId, { parentId: thread.stored.parentThreadId ?? callerId, state: UNTOUCHED })
    prepareMcp(agentId, thread.liveConfig.current)
    shareSubscribers(callerId, agentId)
    return this.state(callerId, agentId)
  }

  /** Hears what the threads do. */
  readonly notified: Emit = (method, params) => {
    const { threadId } = params as { threadId?: string | null }
    if (typeof threadId !== 'string' || !this.agents.has(threadId)) return
    if (method === 'turn/started') this.set(threadId, { status: 'running', message: null })
    else if (method === 'turn/completed') this.ended(threadId, (params as NotificationMap['turn/completed']).turn)
    else if (method === 'thread/closed') {
      this.set(threadId, { status: 'shutdown', message: null })
      for (const [id, { parentId }] of this.agents) if (parentId === threadId) this.agents.delete(id)
    }
  }

  private ended(threadId: string, { status, items, error }: NotificationMap['turn/completed']['turn']): void {
    const last = items.at(-1)
    const state: AgentState =
      status === 'completed'
        ? { status: 'completed', message: last?.type === 'agentMessage' ? last.text : null }
        : status === 'failed'
          ? { status: 'errored', message: error?.message ?? null }
          : { status: 'interrupted', message: null }
    this.set(threadId, state)
    const parentId = this.options.threads.get(threadId)?.stored.parentThreadId
    const parent = parentId ? this.options.threads.get(parentId)?.session : undefined
    if (!parent || this.closing.has(threadId)) return
    // One that does not read its messages, or is ending, does without.
    void parent
      .receiveMail({ text: agentEnded(threadId, stateForModel(state)), triggersTurn: false })
      .catch(() => undefined)
  }

  private set(threadId: string, state: AgentState): void {
    this.agents.get(threadId)!.state = state
    for (const listener of this.listeners) listener()
  }

  /** @throws AgentRefused for what is no open descendant of the caller */
  private reach(callerId: string, agentId: string): LoadedThread {
    const thread = this.isBelow(callerId, agentId) ? this.options.threads.get(agentId) : undefined
    if (!thread) throw unreachable(agentId)
    return thread
  }

  private isBelow(callerId: string, agentId: string): boolean {
    const parentId = this.agents.get(agentId)?.parentId
    return parentId !== undefined && (parentId === callerId || this.isBelow(callerId, parentId))
  }

  /** The open agents of a thread's tree. @throws AgentRefused when there may be no more */
  private openBeside(thread: LoadedThread): LoadedThread[] {
    const { maxOpen } = limitsOf(thread)
    const open = [...this.options.threads.all()].filter(
      ({ stored }) => stored.sessionId === thread.stored.sessionId && stored.parentThreadId !== null,
    )
    if (open.length < maxOpen) return open
    throw new AgentRefused(
      `the limit of ${maxOpen} open agents is reached; close one with close_agent first, or do the work yourself`,
    )
  }
}

const unreachable = (agentId: string): AgentRefused =>
  new AgentRefused(`agent with id ${agentId} not found; resume_agent opens one of yours that was closed`)

/** What an agent may do is never more than the turn that gives it work may. */
const rightsOf = ({ settings }: ActiveTurn): SettingsOverrides => ({
  sandboxPolicy: settings.sandboxPolicy,
  approvalPolicy: settings.approvalPolicy,
  approvalsReviewer: settings.approvalsReviewer,
})

const plain = (input: UserInput[]): PendingInput => ({ input, clientId: null, additionalContext: null })

const depthOf = ({ stored }: LoadedThread): number => agentOf(stored.source)?.depth ?? 0

/** `[agents]` of the configuration; `features.multi_agent = false` switches them off, too. */
function limitsOf({ liveConfig }: LoadedThread): { enabled: boolean; maxOpen: number; maxDepth: number } {
  const agents = (liveConfig.current.agents ?? {}) as ConfigTable
  const features = (liveConfig.current.features ?? {}) as ConfigTable
  const count = (value: unknown, otherwise: number): number =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : otherwise
  return {
    enabled: agents.enabled !== false && features.multi_agent !== false,
    maxOpen: count(agents.max_threads, MAX_OPEN),
    maxDepth: count(agents.max_depth, MAX_DEPTH),
  }
}

/** What the parent knows, without calls that have no output yet; another model cannot read its reasoning. */
function handedOn(history: readonly ResponseItem[], isSameModel: boolean): ResponseItem[] {
  const answered = new Set(
    history.filter((item) => String(item.type).endsWith('_output')).map(({ call_id }) => call_id),
  )
  return history.filter((item) => {
    if (item.type === 'reasoning') return isSameModel
    return !String(item.type).endsWith('_call') || answered.has(item.call_id)
  })
}
