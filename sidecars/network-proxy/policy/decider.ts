/** Asking the owner about a host that no rule names, while the client's connection is held. */
import { createHash } from 'node:crypto'
import type { ApprovalsAnswer } from '../../protocol/host-channel.ts'
import type { SessionId } from '../../protocol/ids.ts'
import { canonicalSubject, type ConnectionSubject } from '../../protocol/subject.ts'
import { errorCodeOf, type ErrorCode } from '../../protocol/errors.ts'
import type { ClientPresence } from '../client-presence.ts'
import type { Attribution } from '../leases.ts'
import type { Refusal } from './refusal.ts'
import type { Destination } from './rule-table.ts'

export type Answer =
  | { verdict: 'allow'; requestId: string | undefined; ruleId: string | undefined }
  | { verdict: 'deny'; requestId: string | undefined; refusal: Refusal }

/** Whoever is asked about a host while its connection is held. A rejection never happens: it answers no. */
export interface ConnectionDecider {
  ask(destination: Destination, attribution: Attribution, presence: ClientPresence): Promise<Answer>
}

/** The question to the host: `approvals/request`. Rejects when it is withdrawn, expired or the host is gone. */
export type AskHost = (
  question: { subject: ConnectionSubject; sessionId: SessionId; attribution: Attribution },
  signal: AbortSignal,
) => Promise<ApprovalsAnswer>

/** The session that connections without a valid lease belong to; session rules never match it. */
export const UNKNOWN_SESSION = 'unknown' as SessionId

export interface DeciderOptions {
  /** Longest a connection is held. */
  timeoutMs: number
  /** Different host and port pairs that may wait at once; more are refused, so a scan cannot bury the owner. */
  maxPendingKeys?: number
}

/**
 * Asks and waits. Fails closed: only an `allow` that is bound to exactly what was asked allows; a late
 * answer, a lost host and every error are a refusal.
 */
export class Decider implements ConnectionDecider {
  private readonly pending = new Map<string, number>()
  private timeoutMs: number

  constructor(
    private readonly askHost: AskHost,
    private readonly options: DeciderOptions,
  ) {
    this.timeoutMs = options.timeoutMs
  }

  configure(timeoutMs: number): void {
    this.timeoutMs = timeoutMs
  }

  /** When the client leaves, the question is withdrawn. */
  async ask(destination: Destination, attribution: Attribution, presence: ClientPresence): Promise<Answer> {
    const key = `${attribution.sessionId ?? ''} ${destination.host} ${destination.port}`
    const waiting = this.pending.get(key) ?? 0
    if (waiting === 0 && this.pending.size >= (this.options.maxPendingKeys ?? 32))
      return refuse('policy_denied', 'too many hosts are waiting for the owner already')
    this.pending.set(key, waiting + 1)
    const expiry = new AbortController()
    const withdraw = () => expiry.abort()
    const timer = setTimeout(withdraw, this.timeoutMs)
    presence.onLeave(withdraw)
    try {
      if (presence.left) return refuse('policy_denied', 'the client left')
      return await this.question(destination, attribution, expiry.signal, presence)
    } finally {
      clearTimeout(timer)
      presence.off(withdraw)
      const left = (this.pending.get(key) ?? 1) - 1
      if (left === 0) this.pending.delete(key)
      else this.pending.set(key, left)
    }
  }

  private async question(
    destination: Destination,
    attribution: Attribution,
    expiry: AbortSignal,
    client: ClientPresence,
  ): Promise<Answer> {
    const subject: ConnectionSubject = { kind: 'connection', ...destination }
    const sessionId = attribution.sessionId ?? UNKNOWN_SESSION
    try {
      const { decision, requestId } = await this.askHost({ subject, sessionId, attribution }, expiry)
      if (decision.verdict !== 'allow') {
        const refusal: Refusal = { reason: 'policy_denied', source: 'decider' }
        if (decision.reason !== undefined) refusal.detail = decision.reason
        if (decision.ruleId !== undefined) refusal.ruleId = decision.ruleId
        return { verdict: 'deny', requestId, refusal }
      }
      if (decision.subjectHash !== subjectHash(subject))
        return refuse('policy_denied', 'the approval was for something else than this connection')
      return { verdict: 'allow', requestId, ruleId: decision.ruleId }
    } catch (error) {
      if (expiry.aborted && !client.left) return refuse('approval_timeout')
      if (client.left) return refuse('policy_denied', 'the client left')
      return codeOf(error) === 'timedOut' ? refuse('approval_timeout') : refuse('policy_denied', 'nobody can be asked')
    }
  }
}

/** SHA-256 (hex) of what is asked, in its one text form. */
export function subjectHash(subject: ConnectionSubject): string {
  return createHash('sha256').update(canonicalSubject(subject)).digest('hex')
}

function codeOf(error: unknown): ErrorCode {
  const { wireCode } = error as { wireCode?: unknown }
  return typeof wireCode === 'number' ? errorCodeOf(wireCode) : 'internal'
}

function refuse(reason: Refusal['reason'], detail?: string): Answer {
  const refusal: Refusal = { reason, source: 'decider' }
  if (detail !== undefined) refusal.detail = detail
  return { verdict: 'deny', requestId: undefined, refusal }
}
