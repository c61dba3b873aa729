import { randomBytes } from 'node:crypto'
import type { ApprovalView, DecideIntent, DecideResult, RulePreview } from '../../preload/api.ts'
import { answerFields, type Answers } from '../../sidecars/protocol/answer-form.ts'
import type { Actor, Decision, Scope } from '../../sidecars/protocol/decision.ts'
import type { ApprovalsRequest, GateMode, SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { ProcessId, RequestId, SessionId } from '../../sidecars/protocol/ids.ts'
import { RpcError } from '../../sidecars/rpc/rpc-error.ts'
import type { Audit } from '../audit/audit.ts'
import { decidingStep, type Judgement, type Rules } from '../rules/rules.ts'
import { recordAsked, recordEnding } from './approval-records.ts'
import { approvalView, whyView, type ShownSession } from './approval-view.ts'
import { alreadyDecided } from './decision-words.ts'
import { decideByGate, FULL_JOURNAL } from './gate-decision.ts'
import { judgedOf, makeLasting, offeredScopes, previewLasting } from './lasting-decision.ts'
import {
  RequestBook,
  type ApprovalRequest,
  type Asker,
  type Ending,
  type PendingEntry,
  type Waiter,
} from './request-book.ts'
import { readAnswers } from './read-answers.ts'
import { RequestHistory } from './request-history.ts'
import { hashSubject } from './subject-hash.ts'

export { hashSubject } from './subject-hash.ts'
export { previewRules } from './lasting-decision.ts'
export { HISTORY_MS, type PastRequest } from './request-history.ts'
export type { Asker } from './request-book.ts'

/** Ended requests that can still be answered with "already decided"; the journal has all of them. */
const ENDED_KEPT = 1_000
/** Ended requests that stay in the window's list. */
const ENDED_SHOWN = 200

export interface ApprovalsOptions {
  rules: Rules
  audit: Pick<Audit, 'record' | 'canRecord'>
  /** Folder of rules files, for the words of a preview. */
  rulesFolder: string
  /** How the asker is treated where no rule decides; default: as it asked. */
  gateOf?(sessionId: SessionId, asked: GateMode): GateMode
  /** What is known of a session; undefined until it was announced. */
  sessionOf(id: SessionId): (ShownSession & { via: string }) | undefined
  /** Puts a row into the window's table; null takes it out. */
  publish(id: RequestId, view: ApprovalView | null): void
  /** A session's number of pending requests may have changed. */
  onPendingChanged(sessionId: SessionId): void
  /** A person decided; for the day's count. */
  onDecided?(decision: Decision): void
  now?: () => number
}

export interface AskOptions {
  asker: Asker
  /** Fires when the asker cancels or is gone. */
  signal: AbortSignal
  /** One clause, read when the signal fires. */
  whyGone(): string
}

export interface Answer {
  requestId: RequestId
  decision: Decision
  /** What the owner filled in, for a subject with a form that was allowed. */
  content?: Answers
}

/**
 * The queue of questions that sidecars ask: decided by rules, or by the owner exactly once.
 *
 * Whatever goes wrong is never a yes: an expiry denies, a question whose asker left is withdrawn, an
 * answer must carry the hash of what was shown, and while the journal cannot record nothing is allowed.
 */
export class Approvals {
  readonly history: RequestHistory
  private readonly book = new RequestBook(ENDED_KEPT)
  private readonly endedShown: RequestId[] = []
  private readonly now: () => number
  private readonly disposeRules: () => void
  /** The request whose own new rule is being put in force: not that rule decides it, its owner did. */
  private deciding: RequestId | undefined

  constructor(private readonly options: ApprovalsOptions) {
    this.now = options.now ?? Date.now
    this.history = new RequestHistory(this.now)
    this.disposeRules = options.rules.onChange(() => this.judgePendingAgain())
  }

  /**
   * Asks one question. Resolves with the decision of a rule, the owner or an expiry; rejects with
   * `cancelled` when it was withdrawn.
   */
  async ask(params: ApprovalsRequest, ask: AskOptions): Promise<Answer> {
    if (ask.signal.aborted) throw new RpcError('cancelled', ask.whyGone())
    const request = this.newRequest(params, ask.asker)
    const judgement = this.judge(request)
    const decision = this.decideAtOnce(request, judgement)
    if (!decision) {
      const card = {
        ...request,
        scopes: offeredScopes(this.options.rules, request),
        why: whyView(judgement),
        askedBy: decidingStep(judgement)?.ruleId,
      }
      return this.wait(card, params.expiresInMs, ask)
    }
    recordAsked(this.options.audit, request)
    this.noteEnding(request, { state: 'decided', decision }, judgement)
    return { requestId: request.id, decision }
  }

  /** The owner's answer. A late one is told who was first; one that does not fit what was shown changes nothing. */
  decide(intent: DecideIntent, actor: Actor): DecideResult {
    const entry = this.book.get(intent.requestId as RequestId)
    if (!entry) return this.lateAnswer(intent.requestId as RequestId)
    const { request } = entry
    const refusal = this.refuseIntent(request, intent)
    if (refusal !== undefined) return { ok: false, message: refusal }
    const filledIn = readAnswers(request.subject, intent)
    if ('problem' in filledIn) return { ok: false, message: filledIn.problem }
    const ruleIds = this.makeRules(request, intent, actor)
    if (!ruleIds)
      return { ok: false, message: `No rule can say "${intent.verdict} ${intent.scope}" for this; answer once.` }
    const decision: Decision = {
      verdict: intent.verdict,
      scope: intent.scope,
      actor,
      subjectHash: request.subjectHash,
      decidedAtMs: this.now(),
      ...(ruleIds[0] && { ruleId: ruleIds[0] }),
      ...(intent.reason !== undefined && intent.reason !== '' && { reason: intent.reason }),
    }
    this.settle(entry, { state: 'decided', decision }, undefined, filledIn.content)
    this.options.onDecided?.(decision)
    return { ok: true }
  }

  /**
   * What a scope would write for a pending request, and what it would have matched before.
   * @throws RpcError `notFound` when it does not wait, `invalidParams` when the scope is not offered
   */
  preview(id: string, scope: Scope): RulePreview {
    const request = this.book.get(id as RequestId)?.request
    if (!request) throw new RpcError('notFound', 'This request does not wait any more.')
    if (!request.scopes.includes(scope)) throw new RpcError('invalidParams', `scope: "${scope}" is not offered here`)
    const { rules, rulesFolder } = this.options
    return previewLasting({ rules, rulesFolder, history: this.history }, request, scope)
  }

  /** How many wait, of one session or of all. */
  pendingCount(sessionId?: SessionId): number {
    const all = this.book.allPending()
    return sessionId === undefined
      ? all.length
      : all.filter(({ request }) => request.origin.sessionId === sessionId).length
  }

  withdrawSession(sessionId: SessionId, because: string): void {
    this.withdraw(({ origin }) => origin.sessionId === sessionId, because)
  }
  withdrawProcess(processId: ProcessId, because: string): void {
    this.withdraw(({ origin }) => origin.processId === processId, because)
  }
  /** Everything that the lives of `sidecar` up to this one asked. */
  withdrawGeneration(sidecar: SidecarName, generation: number, because: string): void {
    this.withdraw(({ asker }) => asker.sidecar === sidecar && asker.generation <= generation, because)
  }

  /** Denies what a session asks, e.g. because the owner interrupted it. */
  denySession(sessionId: SessionId, actor: Actor, reason: string): void {
    for (const { request } of this.book.allPending()) {
      const { id, subjectHash, origin } = request
      if (origin.sessionId === sessionId)
        this.decide({ requestId: id, subjectHash, verdict: 'deny', scope: 'once', reason }, actor)
    }
  }

  /** The names on a session's cards may have changed. */
  refreshSession(sessionId: SessionId): void {
    for (const entry of this.book.allPending())
      if (entry.request.origin.sessionId === sessionId) this.publishPending(entry)
  }

  /** Withdraws everything; the window's rows stay. */
  dispose(because: string): void {
    this.disposeRules()
    this.withdraw(() => true, because)
  }

  private newRequest(params: ApprovalsRequest, asker: Asker): ApprovalRequest {
    const { subject, origin, gate, scopes, reason, refused } = params
    return {
      id: `req_${randomBytes(8).toString('hex')}` as RequestId,
      asker,
      origin,
      gate: this.options.gateOf?.(origin.sessionId, gate) ?? gate,
      subject,
      subjectHash: hashSubject(subject),
      scopes,
      why: { summary: '', nearly: null },
      askedBy: undefined,
      reason,
      refused,
      askedAtMs: this.now(),
    }
  }

  private judge(request: ApprovalRequest): Judgement {
    return this.options.rules.judge(judgedOf(request))
  }

  /** Undefined when it cannot be judged: it then goes on waiting for the owner. */
  private judgeAgain(request: ApprovalRequest): Judgement | undefined {
    try {
      return this.judge(request)
    } catch {
      // A fault of the rule engine; a new question of this kind fails with it, and is never a yes.
      return undefined
    }
  }

  private decideAtOnce(
    { gate, subject, subjectHash, origin }: ApprovalRequest,
    judgement: Judgement,
  ): Decision | undefined {
    // Nobody but the owner has the words that a form wants.
    if (answerFields(subject) !== null) return undefined
    return decideByGate(judgement, {
      gate,
      subjectHash,
      isTyped: this.options.sessionOf(origin.sessionId)?.via === 'command-line',
      canRecord: this.options.audit.canRecord(),
      nowMs: this.now(),
    })
  }

  private wait(request: ApprovalRequest, expiresInMs: number, ask: AskOptions): Promise<Answer> {
    const key = coalescingKey(request)
    const joined = key === undefined ? undefined : this.book.joinable(key)
    const { id } = joined?.request ?? request
    return new Promise<Answer>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const onAbort = () => this.leave(id, waiter, { state: 'withdrawn', because: ask.whyGone() })
      const waiter: Waiter = {
        subjectHash: request.subjectHash,
        expiresAtMs: expiresInMs > 0 ? this.now() + expiresInMs : null,
        settle(ending, content) {
          ask.signal.removeEventListener('abort', onAbort)
          clearTimeout(timer)
          if (ending.state === 'withdrawn') reject(new RpcError('cancelled', `Withdrawn: ${ending.because}`))
          else resolve({ requestId: id, decision: ending.decision, ...(content && { content }) })
        },
      }
      ask.signal.addEventListener('abort', onAbort, { once: true })
      if (expiresInMs > 0) timer = setTimeout(() => this.expire(id, waiter, expiresInMs), expiresInMs)
      if (joined) this.book.join(id, waiter)
      else {
        this.book.open(request, waiter, key)
        recordAsked(this.options.audit, request)
        if (request.askedBy) this.options.rules.noteFired(request.askedBy, request.askedAtMs)
      }
      this.publishPending(this.book.get(id)!)
    })
  }

  private leave(id: RequestId, waiter: Waiter, ending: Ending): void {
    const entry = this.book.get(id)
    if (!entry) return
    if (this.book.leave(id, waiter, ending)) this.afterEnd(entry.request, ending)
    else this.publishPending(entry)
  }

  private expire(id: RequestId, waiter: Waiter, afterMs: number): void {
    const decision: Decision = {
      verdict: 'deny',
      scope: 'once',
      actor: { kind: 'policy' },
      reason: `Nobody answered within ${afterMs < 1000 ? `${afterMs} ms` : `${Math.round(afterMs / 1000)} s`}.`,
      subjectHash: waiter.subjectHash,
      decidedAtMs: this.now(),
    }
    this.leave(id, waiter, { state: 'expired', decision })
  }

  private withdraw(isMeant: (request: ApprovalRequest) => boolean, because: string): void {
    for (const entry of this.book.allPending())
      if (isMeant(entry.request)) this.settle(entry, { state: 'withdrawn', because })
  }

  private settle({ request }: PendingEntry, ending: Ending, judgement?: Judgement, content?: Answers): void {
    if (this.book.end(request.id, ending, content)) this.afterEnd(request, ending, judgement)
  }

  private afterEnd(request: ApprovalRequest, ending: Ending, judgement?: Judgement): void {
    const { origin, id } = request
    this.noteEnding(request, ending, judgement)
    this.options.publish(id, approvalView(request, this.options.sessionOf(origin.sessionId), { ending }))
    this.endedShown.push(id)
    if (this.endedShown.length > ENDED_SHOWN) this.options.publish(this.endedShown.shift()!, null)
    this.options.onPendingChanged(origin.sessionId)
  }

  private noteEnding(request: ApprovalRequest, ending: Ending, judgement?: Judgement): void {
    const { subject, subjectHash, origin, askedAtMs } = request
    recordEnding(this.options.audit, request, ending, judgement)
    const decision = ending.state === 'withdrawn' ? undefined : ending.decision
    if (decision?.actor.kind === 'rule' && decision.ruleId !== undefined)
      this.options.rules.noteFired(decision.ruleId, decision.decidedAtMs)
    this.history.add({
      subject,
      subjectHash,
      sessionId: origin.sessionId,
      atMs: askedAtMs,
      ...(decision && { verdict: decision.verdict }),
    })
  }

  private publishPending({ request, waiters }: PendingEntry): void {
    const { origin, id } = request
    const latest = Math.max(...[...waiters].map(({ expiresAtMs }) => expiresAtMs ?? Number.POSITIVE_INFINITY))
    const state = { waiting: waiters.size, expiresAtMs: Number.isFinite(latest) ? latest : null }
    this.options.publish(id, approvalView(request, this.options.sessionOf(origin.sessionId), state))
    this.options.onPendingChanged(origin.sessionId)
  }

  private lateAnswer(id: RequestId): DecideResult {
    const ended = this.book.getEnded(id)
    if (!ended) return { ok: false, message: 'There is no such request; it may be from an earlier start of Gatehouse.' }
    const { ending } = ended
    if (ending.state === 'withdrawn') return { ok: false, message: `It does not wait any more: ${ending.because}.` }
    const { decision } = ending
    const message = ending.state === 'expired' ? `It was denied: ${decision.reason}` : alreadyDecided(decision)
    return { ok: false, message, already: decision }
  }

  private refuseIntent(request: ApprovalRequest, { subjectHash, scope, verdict }: DecideIntent): string | undefined {
    if (subjectHash !== request.subjectHash)
      return 'The answer is for something else than what waits here; look at the request again.'
    if (!request.scopes.includes(scope)) return `"${scope}" is not offered for this request.`
    if (verdict === 'allow' && !this.options.audit.canRecord()) return FULL_JOURNAL
    return undefined
  }

  private makeRules(request: ApprovalRequest, { scope, verdict }: DecideIntent, actor: Actor) {
    const { rules, audit } = this.options
    const named = { scope, actor, sessionId: request.origin.sessionId, requestId: request.id }
    this.deciding = request.id
    try {
      const made = makeLasting(rules, request, scope, verdict)
      for (const rule of made ?? []) audit.record({ kind: 'rule.added', ...rule, ...named })
      return made?.map(({ ruleId }) => ruleId)
    } finally {
      this.deciding = undefined
    }
  }

  /** Rules changed: whatever waits and is now decided by one is answered. */
  private judgePendingAgain(): void {
    for (const entry of this.book.allPending()) {
      const judgement = entry.request.id === this.deciding ? undefined : this.judgeAgain(entry.request)
      if (!judgement) continue
      const decision = this.decideAtOnce(entry.request, judgement)
      // A journal that cannot record denies a new question; one that waits may as well wait for the disk.
      if (decision?.actor.kind === 'rule') this.settle(entry, { state: 'decided', decision }, judgement)
    }
  }
}

/** Equal questions about one host wait on one card; anything else is shown by itself. */
function coalescingKey({ subject, origin, gate, asker }: ApprovalRequest): string | undefined {
  if (subject.kind !== 'connection') return undefined
  const { host, port, protocol, method } = subject
  return JSON.stringify([origin.sessionId, host, port, protocol, method ?? null, gate, asker])
}
