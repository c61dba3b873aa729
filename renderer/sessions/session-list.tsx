/** The list of sessions: filter, group, search; one row a session. */
import { useMemo, useState, type ReactNode } from 'react'
import type { Posture, SessionView } from '../../preload/api.ts'
import { ToggleChip } from '../components/chip.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { moveThroughLinks } from '../components/list-keys.ts'
import { Monogram } from '../components/monogram.tsx'
import { place, placeHref } from '../components/places.ts'
import { countOf } from '../components/quantities.ts'
import { Button } from '../components/button.tsx'
import { SearchField } from '../components/search-field.tsx'
import { Ago } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { EarlierSessions } from './earlier-sessions.tsx'
import { POSTURES, POSTURE_WORDS, PostureChip } from './posture-chip.tsx'
import { groupSessions, memoizeSessionFilter, selectSessions, type SessionGrouping } from './selectors.ts'
import './session-list.css'

const SHOWN_AT_FIRST = 200

export function SessionList({ currentId }: { currentId: string | null }): ReactNode {
  const [query, setQuery] = useState('')
  const [postures, setPostures] = useState<ReadonlySet<Posture>>(new Set())
  const [grouping, setGrouping] = useState<SessionGrouping>('time')
  const [limit, setLimit] = useState(SHOWN_AT_FIRST)
  const filter = useMemo(() => ({ query, postures }), [query, postures])
  const all = useFeed(selectSessions)
  const isFiltered = query.trim() !== '' || postures.size > 0
  const shown = useFeed(useMemo(() => memoizeSessionFilter(filter), [filter]))
  const groups = groupSessions(shown.slice(0, limit), grouping)

  const toggle = (posture: Posture): void => {
    const next = new Set(postures)
    if (!next.delete(posture)) next.add(posture)
    setPostures(next)
  }

  return (
    <>
      <div className="session-filters">
        <SearchField label="Search sessions" value={query} onChange={setQuery} />
        <div className="chips" role="group" aria-label="Posture">
          {POSTURES.filter((posture) => all.some((session) => session.posture === posture)).map((posture) => (
            <ToggleChip key={posture} on={postures.has(posture)} onToggle={() => toggle(posture)}>
              {POSTURE_WORDS[posture]}
            </ToggleChip>
          ))}
          <select
            className="chip-select"
            aria-label="Group by"
            value={grouping}
            onChange={(event) => setGrouping(event.target.value as SessionGrouping)}
          >
            <option value="time">by time</option>
            <option value="folder">by folder</option>
            <option value="agent">by agent</option>
          </select>
        </div>
      </div>
      <div
        className="section-list"
        data-region="list"
        role="region"
        aria-label="Sessions"
        tabIndex={-1}
        onKeyDown={moveThroughLinks}
      >
        {groups.map((group) => (
          <section key={group.name ?? ''}>
            {group.name !== null && (
              <h2 className="session-group">
                <VisibleText text={group.name} />
              </h2>
            )}
            <ul>
              {group.sessions.map((session) => (
                <SessionRow key={session.id} session={session} isCurrent={session.id === currentId} />
              ))}
            </ul>
          </section>
        ))}
        <EarlierSessions query={query} currentId={currentId} />
        {shown.length === 0 && (
          <p className="list-nothing dim">
            {isFiltered ? (
              'No session matches.'
            ) : (
              <>
                No agent has attached yet.{' '}
                <a className="link" href={placeHref(place('agents'))}>
                  Connect an agent
                </a>
              </>
            )}
          </p>
        )}
        {shown.length > limit && (
          <Button tone="quiet" onClick={() => setLimit(limit + SHOWN_AT_FIRST)}>
            Show more of {countOf(shown.length, 'session')}
          </Button>
        )}
      </div>
    </>
  )
}

function SessionRow({ session, isCurrent }: { session: SessionView; isCurrent: boolean }): ReactNode {
  const home = useFeed(selectHome)
  return (
    <li>
      <a
        className="session-row"
        href={placeHref(place('sessions', session.id))}
        aria-current={isCurrent ? 'true' : undefined}
      >
        <Monogram name={session.agentName} />
        <span className="session-title truncate">
          <VisibleText text={session.title || session.agentName} />
        </span>
        <span className="meta">
          <Ago atMs={session.lastActivityAtMs} />
        </span>
        <span className="session-line meta">
          <PostureChip posture={session.posture} />
          <span className="truncate">
            {session.lastLine ? (
              <VisibleText text={session.lastLine} />
            ) : (
              session.cwd && <VisibleText code text={shortenPath(session.cwd, home)} />
            )}
          </span>
        </span>
      </a>
    </li>
  )
}
