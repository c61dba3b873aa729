/** How a request ended, and by whom: a word, a shape, a time. */
import type { ReactNode } from 'react'
import type { Actor, ApprovalView } from '../../preload/api.ts'
import { answerFields } from '../../sidecars/protocol/answer-form.ts'
import { useFeed } from '../feed/feed-context.tsx'
import type { FeedState } from '../feed/feed-state.ts'
import { Icon, type IconName } from '../components/icon.tsx'
import { Ago } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { endedAtMs } from './selectors.ts'

export interface OutcomeWords {
  tone: 'allow' | 'deny' | 'dim'
  icon: IconName
  /** "Allowed for the session by you". */
  words: string
  /** The reason given, or why it ended by itself. */
  because: string | null
}

const SCOPE_WORDS = { once: 'once', session: 'for the session', always: 'always' } as const

/** `ruleName` is where the deciding rule stands, e.g. `default.rules:9`; null when that is not known. */
export function outcomeWords(request: ApprovalView, ruleName: string | null): OutcomeWords {
  const { decision } = request
  if (decision) {
    const allowed = decision.verdict === 'allow'
    const isOwn = decision.actor.kind === 'person'
    if (isOwn && answerFields(request.subject) !== null)
      return {
        tone: allowed ? 'allow' : 'deny',
        icon: allowed ? 'check' : 'blocked',
        words: `${allowed ? 'Answered' : 'Declined'} by ${actorWords(decision.actor, ruleName)}`,
        because: decision.reason ?? null,
      }
    const scope = isOwn && (allowed || decision.scope !== 'once') ? ` ${SCOPE_WORDS[decision.scope]}` : ''
    return {
      tone: allowed ? 'allow' : 'deny',
      icon: allowed ? 'check' : 'blocked',
      words: `${allowed ? 'Allowed' : 'Denied'}${scope} by ${actorWords(decision.actor, ruleName)}`,
      because: decision.reason ?? null,
    }
  }
  const expired = request.state === 'expired'
  return {
    tone: 'dim',
    icon: expired ? 'clock' : 'cross',
    words: expired ? 'Expired and therefore denied' : 'Withdrawn',
    because: request.endedBecause,
  }
}

function actorWords(actor: Actor, ruleName: string | null): string {
  switch (actor.kind) {
    case 'person':
      return actor.via === 'window' ? 'you' : 'you, on the command line'
    case 'rule':
      return ruleName ? `rule ${ruleName}` : 'a rule that is gone now'
    case 'policy':
      return 'the default'
  }
}

/** `default.rules:9`, or the source alone for rules that stand in no file. */
export function selectRuleName(state: FeedState, ruleId: string | undefined): string | null {
  const rule = ruleId === undefined ? undefined : state.tables.rules.rows.get(ruleId)
  if (!rule) return null
  return rule.line === null ? rule.source : `${rule.source}:${rule.line}`
}

export function OutcomeLine({ request }: { request: ApprovalView }): ReactNode {
  const ruleName = useFeed((state) => selectRuleName(state, request.decision?.ruleId))
  const { tone, icon, words, because } = outcomeWords(request, ruleName)
  return (
    <p className="outcome">
      <span className={`outcome-words ${tone}`}>
        <Icon name={icon} /> {words}
      </span>
      {because && (
        <span className="dim">
          {' · '}
          <VisibleText text={because} />
        </span>
      )}
      <span className="meta">
        {' · '}
        <Ago atMs={endedAtMs(request)} />
      </span>
    </p>
  )
}
