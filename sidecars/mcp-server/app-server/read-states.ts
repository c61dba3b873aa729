/** What a person has seen of each thread; kept as long as the server runs. */
import { randomUUID } from 'node:crypto'
import type { ReadState } from '../../protocol/app-server/thread.ts'

export class ReadStates {
  private readonly states = new Map<string, ReadState>()

  of(threadId: string): ReadState {
    let state = this.states.get(threadId)
    if (!state) this.states.set(threadId, (state = { firstUnread: null, revision: randomUUID() }))
    return state
  }

  /** A turn ended: it is unread unless an older one is. */
  ended(threadId: string, turnId: string): ReadState | null {
    if (this.of(threadId).firstUnread) return null
    return this.set(threadId, { type: 'turn', turnId })
  }

  /** The client read it, or wants it to count as unread. An outdated revision changes nothing. */
  update(
    threadId: string,
    operation: { type: 'read' | 'unread'; turnId?: string },
    expectedRevision: string | null,
  ): ReadState {
    const state = this.of(threadId)
    if (expectedRevision !== null && expectedRevision !== state.revision) return state
    const unread = operation.type === 'unread' && operation.turnId !== undefined
    return this.set(threadId, unread ? { type: 'turn', turnId: operation.turnId! } : null)
  }

  private set(threadId: string, firstUnread: ReadState['firstUnread']): ReadState {
    const state = { firstUnread, revision: randomUUID() }
    this.states.set(threadId, state)
    return state
  }
}
