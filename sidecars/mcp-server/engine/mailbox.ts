/** Messages for the model of a thread: kept until its next turn, or the next request of the running one. */
import { textMessage } from './model-history.ts'
import type { ResponseItem } from '../rollout/turn-projection.ts'

export interface Mail {
  /** As the model reads it. */
  text: string
  /** Starts a turn when the thread is idle; otherwise the message waits. */
  triggersTurn: boolean
}

/** More unread messages than this are a mistake of the sender. */
const MAX_WAITING = 100

/** Words of another agent. */
export const agentMail = (from: string, text: string): string =>
  `<agent_message>\n<from>${from}</from>\n${text}\n</agent_message>`

/** A child agent's task has ended. */
export const agentEnded = (agentId: string, status: unknown): string =>
  `<subagent_notification>\n${JSON.stringify({ agent_path: agentId, status })}\n</subagent_notification>`

/** Owned by the session. */
export class Mailbox {
  private waiting: Mail[] = []

  /** False when the box is full and the message was not taken. */
  put(mail: Mail): boolean {
    if (this.waiting.length >= MAX_WAITING) return false
    this.waiting.push(mail)
    return true
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** Something waits that wants a turn. */
  get wantsTurn(): boolean {
    return this.waiting.some(({ triggersTurn }) => triggersTurn)
  }

  /** Gives what waits to the model, oldest first. */
  take(): ResponseItem[] {
    return this.waiting.splice(0).map(({ text }) => textMessage('user', text))
  }
}
