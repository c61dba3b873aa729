import { createHash } from 'node:crypto'
import { decode } from '../../protocol/decode.ts'
import type { Decision, Scope } from '../../protocol/decision.ts'
import { approvalsAnswer, variableValue, type SessionFacts } from '../../protocol/host-channel.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { canonicalSubject, subject, type Subject } from '../../protocol/subject.ts'
import type { RpcPeer } from '../../rpc/peer.ts'
import { RpcError } from '../../rpc/rpc-error.ts'

/** A question to the owner about something another program would do. */
export interface ToolUseQuestion {
  sessionId: SessionId
  toolCallId: string
  toolName: string
  input: unknown
}

/** What the MCP server tells and asks the host. */
export interface HostLink {
  /** False when this server runs alone: nobody can decide anything. */
  readonly isPresent: boolean
  opened(session: SessionFacts): void
  closed(id: SessionId, reason: string): void
  /**
   * Asks for a decision; waits as long as that takes, and withdraws the question when `signal` fires.
   * Rejects with RpcError. What comes back is bound to exactly this question.
   */
  decide(question: ToolUseQuestion, signal: AbortSignal): Promise<Decision>
}

/** A question to the owner about anything that can be shown as a subject. */
export interface OwnerQuestion {
  sessionId: SessionId
  toolCallId?: string
  subject: Subject
  /** How long an answer may hold. */
  scopes: Scope[]
  /** Why it is asked, in the asker's words. */
  reason?: string
  /** Last words of the same command when its sandbox refused it. */
  refused?: string
}

/** The decision, and what was filled in where the subject has a form. */
export type OwnerAnswer = Decision & { content?: Record<string, unknown> }

export class PeerHostLink implements HostLink {
  readonly isPresent = true

  constructor(private readonly peer: RpcPeer) {}

  opened(session: SessionFacts): void {
    this.peer.notify('sessions/opened', session)
  }

  closed(id: SessionId, reason: string): void {
    this.peer.notify('sessions/closed', { id, reason, closedAtMs: Date.now() })
  }

  updated(session: SessionFacts): void {
    this.peer.notify('sessions/updated', session)
  }

  decide({ sessionId, toolCallId, toolName, input }: ToolUseQuestion, signal: AbortSignal): Promise<Decision> {
    const asked: Subject = { kind: 'toolUse', toolName, input }
    return this.ask({ sessionId, toolCallId, subject: asked, scopes: ['once', 'session', 'always'] }, signal)
  }

  /** A variable of the owner; undefined when it is not set. */
  async variable(name: string): Promise<string | undefined> {
    return (await this.peer.request('environment/variable', { name }, variableValue)).value ?? undefined
  }

  /** Like `decide`, about any subject. */
  async ask(question: OwnerQuestion, signal: AbortSignal): Promise<OwnerAnswer> {
    const { sessionId, toolCallId, scopes, reason, refused } = question
    const asked = decode(subject, question.subject)
    const answer = await this.peer.request(
      'approvals/request',
      { subject: asked, origin: { sessionId, toolCallId }, gate: 'ask', scopes, reason, refused },
      approvalsAnswer,
      { signal },
    )
    if (answer.decision.subjectHash !== subjectHash(asked))
      throw new RpcError('forbidden', 'the decision was made for something else than what was asked')
    return { ...answer.decision, ...(answer.content && { content: answer.content }) }
  }
}

/** No host: sessions are told to nobody and no question has an answer. */
export class NoHostLink implements HostLink {
  readonly isPresent = false
  opened(): void {}
  closed(): void {}
  decide(): Promise<Decision> {
    return Promise.reject(new RpcError('unavailable', NO_HOST))
  }
}

/** What an agent reads when a decision is needed and nobody can be asked. */
export const NO_HOST =
  'This MCP server runs without a Gatehouse host, so nobody can decide about commands. ' +
  'Start one with `gatehouse serve` (or open the Gatehouse window) and connect with `gatehouse mcp` instead.'

function subjectHash(value: Subject): string {
  return createHash('sha256').update(canonicalSubject(value)).digest('hex')
}
