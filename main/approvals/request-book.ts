/**
 * The states of requests, without clocks, rules or promises: pending, then ended once.
 *
 * Equal questions may wait on one request; each of them is a waiter and is settled exactly once, by the
 * end of the request or by leaving it.
 */
import type { Answers } from '../../sidecars/protocol/answer-form.ts'
import type { Decision, Scope } from '../../sidecars/protocol/decision.ts'
import type { GateMode, Origin, SidecarName } from '../../sidecars/protocol/host-channel.ts'
import type { RequestId, RuleId } from '../../sidecars/protocol/ids.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import type { WhyView } from '../../preload/api.ts'

/** Who waits: a sidecar in one of its lives. */
export interface Asker {
  sidecar: SidecarName
  generation: number
}

export interface ApprovalRequest {
  readonly id: RequestId
  readonly asker: Asker
  readonly origin: Origin
  readonly gate: GateMode
  readonly subject: Subject
  readonly subjectHash: string
  /** What the asker can honour and a rule could express. */
  readonly scopes: readonly Scope[]
  readonly why: WhyView
  /** The rule that wants the owner to be asked; undefined when only a rule is missing. */
  readonly askedBy: RuleId | undefined
  /** The asker's own words, if it gave any. */
  readonly reason: string | undefined
  /** Last words of the same command when its sandbox refused it. */
  readonly refused: string | undefined
  readonly askedAtMs: number
}

export type Ending =
  | { state: 'decided'; decision: Decision }
  | { state: 'expired'; decision: Decision }
  | { state: 'withdrawn'; because: string }

/** One question that waits on a request. */
export interface Waiter {
  /** Of its own subject, which may differ from the shown one in what does not matter (a resolved address). */
  readonly subjectHash: string
  readonly expiresAtMs: number | null
  /** Told once how it ended. `content` is what the owner filled in; it is passed on and kept nowhere. */
  settle(ending: Ending, content?: Answers): void
}

export interface PendingEntry {
  request: ApprovalRequest
  waiters: Set<Waiter>
}
export interface EndedEntry {
  request: ApprovalRequest
  ending: Ending
}

export class RequestBook {
  private readonly pending = new Map<RequestId, PendingEntry>()
  private readonly byKey = new Map<string, RequestId>()
  private readonly ended = new Map<RequestId, EndedEntry>()

  /** `keptEnded`: how many ended requests can still be looked up. */
  constructor(private readonly keptEnded: number) {}

  /** Opens a request for its first waiter. `key`: equal questions may join it under this name. */
  open(request: ApprovalRequest, waiter: Waiter, key?: string): void {
    this.pending.set(request.id, { request, waiters: new Set([waiter]) })
    if (key !== undefined) this.byKey.set(key, request.id)
  }

  /** The pending request that an equal question may join. */
  joinable(key: string): PendingEntry | undefined {
    const id = this.byKey.get(key)
    const entry = id === undefined ? undefined : this.pending.get(id)
    if (!entry) this.byKey.delete(key)
    return entry
  }

  join(id: RequestId, waiter: Waiter): void {
    this.pending.get(id)?.waiters.add(waiter)
  }

  /** A waiter goes with its own ending; the last one takes the request along. True when the request ended. */
  leave(id: RequestId, waiter: Waiter, ending: Ending): boolean {
    const entry = this.pending.get(id)
    if (!entry?.waiters.delete(waiter)) return false
    if (entry.waiters.size === 0) {
      this.close(entry, ending)
      waiter.settle(ending)
      return true
    }
    waiter.settle(ending)
    return false
  }

  /** Ends a request for all its waiters. False when it is not pending any more. */
  end(id: RequestId, ending: Ending, content?: Answers): boolean {
    const entry = this.pending.get(id)
    if (!entry) return false
    this.close(entry, ending)
    for (const waiter of entry.waiters) waiter.settle(boundTo(waiter, ending), content)
    return true
  }

  get(id: RequestId): PendingEntry | undefined {
    return this.pending.get(id)
  }
  getEnded(id: RequestId): EndedEntry | undefined {
    return this.ended.get(id)
  }
  allPending(): PendingEntry[] {
    return [...this.pending.values()]
  }

  private close({ request }: PendingEntry, ending: Ending): void {
    this.pending.delete(request.id)
    for (const [key, id] of this.byKey) if (id === request.id) this.byKey.delete(key)
    this.ended.set(request.id, { request, ending })
    const [oldest] = this.ended.keys()
    if (this.ended.size > this.keptEnded && oldest !== undefined) this.ended.delete(oldest)
  }
}

/** A decision carries the hash of what its receiver asked about. */
function boundTo(waiter: Waiter, ending: Ending): Ending {
  if (ending.state === 'withdrawn') return ending
  return { ...ending, decision: { ...ending.decision, subjectHash: waiter.subjectHash } }
}
