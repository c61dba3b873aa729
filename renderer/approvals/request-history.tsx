/** Requests that are over: what became of each, and by whom. */
import { useState, type ReactNode } from 'react'
import { useFeed } from '../feed/feed-context.tsx'
import { Button } from '../components/button.tsx'
import { place, placeHref } from '../components/places.ts'
import { countOf } from '../components/quantities.ts'
import { VisibleText } from '../components/visible-text.tsx'
import { OutcomeLine } from './outcome-line.tsx'
import { selectEnded } from './selectors.ts'
import { shorten, subjectLine } from './subject-words.ts'
import './request-history.css'

const SHOWN_AT_FIRST = 20

export function RequestHistory(): ReactNode {
  const ended = useFeed(selectEnded)
  const [all, setAll] = useState(false)
  if (ended.length === 0) return null
  const shown = all ? ended : ended.slice(0, SHOWN_AT_FIRST)
  return (
    <section className="request-history" aria-labelledby="earlier-requests">
      <h2 id="earlier-requests">Earlier</h2>
      <ul>
        {shown.map((request) => (
          <li key={request.id} className="history-row">
            <span className="code truncate" title={shorten(subjectLine(request.subject), 1_000)}>
              <VisibleText code text={shorten(subjectLine(request.subject), 160)} />
            </span>
            <a
              className="meta truncate"
              title={shorten(request.agentName, 1_000)}
              href={placeHref(place('sessions', request.sessionId))}
            >
              <VisibleText text={request.agentName} />
            </a>
            <OutcomeLine request={request} />
          </li>
        ))}
      </ul>
      {ended.length > shown.length && (
        <Button tone="quiet" onClick={() => setAll(true)}>
          Show {countOf(ended.length - shown.length, 'more request')}
        </Button>
      )}
    </section>
  )
}
