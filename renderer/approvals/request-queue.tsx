/** The queue at a glance, beside the cards: press a row to go to its card. */
import type { ReactNode } from 'react'
import type { Subject } from '../../preload/api.ts'
import { answerFields } from '../../sidecars/protocol/answer-form.ts'
import { useFeed } from '../feed/feed-context.tsx'
import { go, place } from '../components/places.ts'
import { formatCount } from '../components/quantities.ts'
import { Elapsed } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { focusCard } from './approval-card.tsx'
import type { CardGroup } from './card-order.ts'
import { shorten, subjectLine } from './subject-words.ts'
import './request-queue.css'

/** The rest comes up as these are answered. */
const ROWS_SHOWN = 200

/** A question is read, not run. */
const isWords = (subject: Subject): boolean => answerFields(subject) !== null

export function RequestQueue({ groups }: { groups: readonly CardGroup[] }): ReactNode {
  const approvals = useFeed((state) => state.tables.approvals)
  const ids = groups.flatMap((group) => group.requestIds)
  const requests = ids.slice(0, ROWS_SHOWN).map((id) => approvals.rows.get(id))
  return (
    <ol className="request-queue" aria-label="Queue">
      {requests.map(
        (request) =>
          request && (
            <li key={request.id}>
              <button
                type="button"
                className={`queue-row ${request.state === 'pending' ? '' : 'over'}`}
                onClick={() => {
                  if (!focusCard(request.id)) go(place('inbox', request.id))
                }}
              >
                <span className={isWords(request.subject) ? 'truncate' : 'code truncate'}>
                  <VisibleText code={!isWords(request.subject)} text={shorten(subjectLine(request.subject), 80)} />
                </span>
                <span className="meta queue-meta">
                  <span className="truncate">
                    <VisibleText text={request.agentName} />
                  </span>
                  {request.state === 'pending' ? <Elapsed sinceMs={request.askedAtMs} /> : <span>over</span>}
                </span>
              </button>
            </li>
          ),
      )}
      {ids.length > ROWS_SHOWN && <li className="queue-more dim">{formatCount(ids.length - ROWS_SHOWN)} more</li>}
    </ol>
  )
}
