/** Asking somebody outside of Gatehouse about a host that no rule names, while the connection is held. */
import type { NetworkProtocol } from '../../protocol/subject.ts'
import type { ClientPresence } from '../client-presence.ts'
import type { Attribution } from '../leases.ts'
import type { Answer, ConnectionDecider } from './decider.ts'
import { sanitize, type Refusal } from './refusal.ts'
import type { Destination } from './rule-table.ts'

export interface OutsideQuestion {
  protocol: NetworkProtocol
  host: string
  port: number
}
/** `ask`: refused now; whoever was asked asks in turn, and the client may try again. */
export type OutsideAnswer = { type: 'allow' } | { type: 'deny' | 'ask'; reason: string }

/** A rejection counts as a no. `signal` fires when nobody waits for the answer any more. */
export type AskOutside = (question: OutsideQuestion, signal: AbortSignal) => Promise<OutsideAnswer>

/** Connections that may be held at once; more are refused. */
const MAX_HELD = 64

/** Fails closed: whatever is not an `allow` in time refuses, in the words of who was asked. */
export class OutsideDecider implements ConnectionDecider {
  private held = 0

  constructor(private readonly askOutside: AskOutside) {}

  async ask(
    { protocol, host, port }: Destination,
    _attribution: Attribution,
    presence: ClientPresence,
  ): Promise<Answer> {
    // A scan must not bury whoever is asked.
    if (this.held >= MAX_HELD) return UNDECIDED
    this.held++
    const withdrawal = new AbortController()
    const withdraw = () => withdrawal.abort()
    presence.onLeave(withdraw)
    try {
      const answer = await this.askOutside({ protocol, host, port }, withdrawal.signal)
      if (answer.type === 'allow') return { verdict: 'allow', requestId: undefined, ruleId: undefined }
      return refuse(answer.type, sanitize(answer.reason))
    } catch {
      return UNDECIDED
    } finally {
      presence.off(withdraw)
      this.held--
    }
  }
}

/** As if nobody could be asked. */
const UNDECIDED: Answer = {
  verdict: 'deny',
  requestId: undefined,
  refusal: { reason: 'not_allowed', source: 'decider' },
}

function refuse(decision: 'deny' | 'ask', words: string): Answer {
  const reason = words === '' ? 'policy_denied' : words
  const refusal: Refusal = { reason: 'policy_denied', source: 'decider', told: { decision, reason } }
  return { verdict: 'deny', requestId: undefined, refusal }
}
