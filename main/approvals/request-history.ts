import type { SessionId } from '../../sidecars/protocol/ids.ts'
import type { Verdict } from '../../sidecars/protocol/decision.ts'
import type { Subject } from '../../sidecars/protocol/subject.ts'
import { subjectLine } from '../audit/subject-line.ts'
import type { RulePreview } from '../../preload/api.ts'

/** Enough for a month of one person's agents; more would make a preview slow. */
const KEPT = 2_000
export const HISTORY_MS = 30 * 86_400_000
const EXAMPLES = 5

export interface PastRequest {
  subject: Subject
  subjectHash: string
  sessionId: SessionId
  /** Undefined when it ended without a decision. */
  verdict?: Verdict
  atMs: number
}

/** What was asked in the last 30 days, to show what a rule would have matched. */
export class RequestHistory {
  private requests: PastRequest[] = []

  constructor(private readonly now: () => number = Date.now) {}

  /** Adds the newest. */
  add(request: PastRequest): void {
    this.requests.push(request)
    if (this.requests.length > KEPT) this.requests.splice(0, this.requests.length - KEPT)
  }

  /** Puts requests from earlier runs (oldest first) in front. */
  addOlder(requests: readonly PastRequest[]): void {
    this.requests = [...requests, ...this.requests].slice(-KEPT)
  }

  /** How many would have matched, how many of these were denied, and the newest different ones. */
  matched(matches: (request: PastRequest) => boolean): RulePreview['matched'] {
    const sinceMs = this.now() - HISTORY_MS
    const found = this.requests.filter((request) => request.atMs >= sinceMs && matches(request))
    const lines = new Set(found.toReversed().map(({ subject }) => subjectLine(subject)))
    return {
      count: found.length,
      denied: found.filter((request) => request.verdict === 'deny').length,
      examples: [...lines].slice(0, EXAMPLES),
    }
  }
}
