/** Agents that a thread starts for parts of its work: threads of their own, below it. */
import type { AgentState, UserInput } from '../../protocol/app-server/thread-item.ts'
import type { ActiveTurn } from './active-turn.ts'
import type { MultiAgentMode } from './thread-settings.ts'

export interface AgentTask {
  input: UserInput[]
  /** The child begins with what its parent knows. */
  forkContext: boolean
  /** Null = the parent's. */
  model: string | null
  effort: string | null
}

export interface SpawnedAgent {
  id: string
  nickname: string
  model: string
  effort: string | null
}

/** A thread reaches its own descendants only. All calls reject with AgentRefused when they cannot be. */
export interface ChildAgents {
  /** Whether this thread may have children at all: not when they are switched off, nor too far down. */
  allows(threadId: string): boolean
  /** Starts one and its first turn, with the settings of the turn that asks and never more. */
  spawn(parentId: string, turn: ActiveTurn, task: AgentTask): Promise<SpawnedAgent>
  /**
   * Gives words to one, which may from now on do what the turn may and no more. Its running turn takes them,
   * or ends first with `interrupt`. Resolves with the turn's id.
   */
  send(callerId: string, turn: ActiveTurn, agentId: string, input: UserInput[], interrupt: boolean): Promise<string>
  /** How one stands; `notFound` for whatever is no open descendant. */
  state(callerId: string, agentId: string): AgentState
  /** Calls back after each change of any agent, until what it returns is called. */
  onChange(listener: () => void): () => void
  /** Ends one and its descendants; resolves with how it stood. */
  close(callerId: string, agentId: string): Promise<AgentState>
  /** Opens a closed one again, as it was, with the rights of the turn that asks. */
  resume(callerId: string, turn: ActiveTurn, agentId: string): Promise<AgentState>
}

/** The agent cannot be started or reached; the words are for the model. */
export class AgentRefused extends Error {
  override readonly name = 'AgentRefused'
}

/** It has come to an end of its own, until somebody gives it more to do. */
export const isFinal = ({ status }: AgentState): boolean => status !== 'pendingInit' && status !== 'running'

/** As the model reads it: a word, or an object that holds the last message. */
export function stateForModel({ status, message }: AgentState): unknown {
  if (status === 'completed') return { completed: message }
  if (status === 'errored') return { errored: message }
  return status.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** When the model may start agents, in words for it. */
export function delegationPolicy(mode: MultiAgentMode): string {
  if (typeof mode === 'object') return mode.custom
  if (mode === 'proactive')
    return 'Use it without being asked wherever independent parts of the work can be done beside each other.'
  return 'Use it only when the person, or an instruction of the project, asks for agents, delegation or parallel work.'
}

/**
 * Resolves with the states of the agents that are final, as soon as one is; with none after `timeoutMs`.
 * Rejects with the signal's reason.
 */
export function untilOneIsFinal(
  agents: Pick<ChildAgents, 'state' | 'onChange'>,
  callerId: string,
  ids: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Record<string, AgentState>> {
  return new Promise((resolve, reject) => {
    const look = (): boolean => {
      const final = ids.map((id) => [id, agents.state(callerId, id)] as const).filter(([, state]) => isFinal(state))
      if (final.length > 0) settle(() => resolve(Object.fromEntries(final)))
      return final.length > 0
    }
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      release()
      signal.removeEventListener('abort', onAbort)
      finish()
    }
    const onAbort = () => settle(() => reject(signal.reason as Error))
    const timer = setTimeout(() => settle(() => resolve({})), timeoutMs)
    const release = agents.onChange(look)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    look()
  })
}
