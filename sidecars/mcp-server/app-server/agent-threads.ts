/** Sessions that agents start and continue through MCP: one call is one turn, from its words to its last message. */
import type { NotificationMap } from '../../protocol/app-server/notifications.ts'
import type { Turn } from '../../protocol/app-server/thread.ts'
import type { AppServer } from './app-server.ts'
import { codexEvents, sessionConfigured, type CodexEvent } from './codex-events.ts'
import { InProcessClient } from './in-process-client.ts'

/** Kept with a thread: only these can be continued by an agent. */
const THREAD_SOURCE = 'mcp'

type Opened = Record<string, unknown> & { thread: Record<string, unknown> & { id: string } }

/** Members of `thread/start` that an agent may set; the owner has seen them. */
export interface AgentThreadStart {
  cwd: string | undefined
  model: string | undefined
  sandbox: string | undefined
  approvalPolicy: string | undefined
  config: Record<string, unknown> | undefined
  baseInstructions: string | undefined
  developerInstructions: string | undefined
}

export interface AgentTurn {
  threadId: string
  /** The last message of the model, or why there is none. */
  content: string
  failed: boolean
}

export interface TurnWatch {
  signal: AbortSignal
  /** Called with a few words whenever something else is going on. */
  onState(words: string): void
  /** Called with everything that happens, for clients that follow it. */
  onEvent?(threadId: string, event: CodexEvent): void
}

export class AgentThreads {
  constructor(private readonly server: AppServer) {}

  /** Rejects with RpcError when it cannot be started; how the turn went is in the result. */
  start(agentName: string, start: AgentThreadStart, prompt: string, watch: TurnWatch): Promise<AgentTurn> {
    return this.during(
      agentName,
      watch,
      async (client) => {
        return await client.call<Opened>('thread/start', { ...start, threadSource: THREAD_SOURCE })
      },
      prompt,
    )
  }

  /** Goes on with a thread that an agent started, also one of an earlier day. */
  reply(agentName: string, threadId: string, prompt: string, watch: TurnWatch): Promise<AgentTurn> {
    return this.during(
      agentName,
      watch,
      async (client) => {
        const { thread } = await client
          .call<{ thread: { threadSource: string | null } }>('thread/read', { threadId })
          .catch(() => ({ thread: { threadSource: null } }))
        if (thread.threadSource !== THREAD_SOURCE) throw new Error(`Session not found for thread_id: ${threadId}`)
        return await client.call<Opened>('thread/resume', { threadId, excludeTurns: true })
      },
      prompt,
    )
  }

  private async during(
    agentName: string,
    { signal, onState, onEvent }: TurnWatch,
    open: (client: InProcessClient) => Promise<Opened>,
    prompt: string,
  ): Promise<AgentTurn> {
    signal.throwIfAborted()
    const turns = new TurnFollower(onState)
    let threadId = ''
    const client = new InProcessClient(this.server, { name: agentName, title: agentName }, (method, params) => {
      turns.notified(method, params)
      if (onEvent && params.threadId === threadId)
        for (const event of codexEvents(method, params)) onEvent(threadId, event)
    })
    try {
      const opened = await open(client)
      threadId = opened.thread.id
      onEvent?.(threadId, sessionConfigured(opened))
      signal.throwIfAborted()
      const { turn } = await client.call<{ turn: Turn }>('turn/start', {
        threadId,
        input: [{ type: 'text', text: prompt }],
      })
      const interrupt = () =>
        void client.call('turn/interrupt', { threadId, turnId: turn.id }).catch(() => {
          // It ended by itself meanwhile.
        })
      signal.addEventListener('abort', interrupt, { once: true })
      if (signal.aborted) interrupt()
      try {
        return { threadId, ...(await turns.end(turn.id)) }
      } finally {
        signal.removeEventListener('abort', interrupt)
      }
    } finally {
      client.close()
    }
  }
}

type Outcome = Omit<AgentTurn, 'threadId'>

/** Hears how turns go and how they end. */
class TurnFollower {
  private readonly messages = new Map<string, string>()
  private readonly ends = new Map<string, Outcome>()
  private readonly waiters = new Map<string, (outcome: Outcome) => void>()

  constructor(private readonly onState: (words: string) => void) {}

  /** Resolves when the turn is over, however it ended. */
  end(turnId: string): Promise<Outcome> {
    const known = this.ends.get(turnId)
    return known ? Promise.resolve(known) : new Promise((resolve) => this.waiters.set(turnId, resolve))
  }

  readonly notified = (method: string, params: Record<string, unknown>): void => {
    switch (method) {
      case 'thread/status/changed': {
        const { status } = params as unknown as NotificationMap['thread/status/changed']
        if (status.type !== 'active') return
        return this.onState(status.activeFlags.length > 0 ? 'waiting for approval in Gatehouse' : 'working')
      }
      case 'item/completed': {
        const { item, turnId } = params as unknown as NotificationMap['item/completed']
        if (item.type === 'agentMessage') this.messages.set(turnId, item.text)
        return
      }
      case 'turn/completed': {
        const { turn } = params as unknown as NotificationMap['turn/completed']
        const outcome = this.outcomeOf(turn)
        this.ends.set(turn.id, outcome)
        this.waiters.get(turn.id)?.(outcome)
      }
    }
  }

  private outcomeOf({ id, status, error }: Turn): Outcome {
    const said = this.messages.get(id) ?? ''
    if (status === 'completed') return { content: said, failed: false }
    if (status === 'interrupted')
      return { content: said || 'The turn was interrupted before it said anything.', failed: true }
    return { content: error?.message ?? 'The turn failed.', failed: true }
  }
}
