import type { Verdict } from '../../sidecars/protocol/decision.ts'
import type { RuleId, SessionId } from '../../sidecars/protocol/ids.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import { judgementOf, type Judgement } from '../../sidecars/rules/judgement.ts'
import { ruleIdOf } from '../../sidecars/rules/rule.ts'

/** One decision that holds until its session ends: for exactly this subject, or for these files. */
export interface SessionGrant {
  id: RuleId
  sessionId: SessionId
  verdict: Verdict
  /** What it is about, in a line. */
  about: string
  /** Hash of the only subject it decides; absent for a grant on files. */
  subjectHash?: string
  paths?: ReadonlySet<string>
}

/** Decisions "for this session" about anything but hosts, which are ordinary rules with a session. */
export class SessionGrants {
  private readonly grants = new Map<RuleId, SessionGrant>()

  all(): SessionGrant[] {
    return [...this.grants.values()]
  }

  /** Adds the grant that a decision for the session makes; an opposite earlier one is replaced. */
  add(subject: Subject, subjectHash: string, sessionId: SessionId, verdict: Verdict, about: string): SessionGrant {
    const id = ruleIdOf(`${verdict} ${subjectHash}`, sessionId)
    // A denial is of exactly this change; an approval is of the files.
    const isFiles = subject.kind === 'fileChange' && verdict === 'allow'
    const grant: SessionGrant = { id, sessionId, verdict, about }
    if (isFiles) grant.paths = new Set(touchedPaths(subject))
    else grant.subjectHash = subjectHash
    for (const other of this.all())
      if (other.sessionId === sessionId && other.subjectHash === subjectHash) this.grants.delete(other.id)
    this.grants.set(id, grant)
    return grant
  }

  /** The grant's words on a subject, or undefined when it is about something else. */
  judge(subject: Subject, subjectHash: string, sessionId: SessionId): Judgement | undefined {
    const own = this.all().filter((grant) => grant.sessionId === sessionId)
    const exact = own.find((grant) => grant.subjectHash === subjectHash)
    if (exact) return judgementOf([stepOf(exact)])
    if (subject.kind !== 'fileChange') return undefined
    const covering = touchedPaths(subject).map((path) => own.find((grant) => grant.paths?.has(path)))
    const steps = covering.map((grant) => grant && stepOf(grant)).filter((step) => step !== undefined)
    return steps.length > 0 && steps.length === covering.length ? judgementOf(steps) : undefined
  }

  remove(id: RuleId): SessionGrant | undefined {
    const grant = this.grants.get(id)
    this.grants.delete(id)
    return grant
  }

  /** Forgets everything about an ended session; true when there was something. */
  endSession(sessionId: SessionId): boolean {
    const before = this.grants.size
    for (const grant of this.all()) if (grant.sessionId === sessionId) this.grants.delete(grant.id)
    return this.grants.size < before
  }
}

function touchedPaths(subject: Extract<Subject, { kind: 'fileChange' }>): string[] {
  return subject.changes.flatMap(({ path, movedTo }) => (movedTo === undefined ? [path] : [path, movedTo]))
}

const stepOf = ({ verdict, about, id }: SessionGrant) => ({
  effect: verdict,
  about,
  because: `you ${verdict === 'allow' ? 'allowed' : 'denied'} it for this session`,
  cause: 'rule' as const,
  ruleId: id,
})
