/** Sessions: the list, and the one that is open. */
import type { ReactNode } from 'react'
import { PageHead } from '../components/page.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { StaleBanner, useDownSidecar } from '../components/stale-banner.tsx'
import { EmptyState } from '../components/states.tsx'
import { useFeed } from '../feed/feed-context.tsx'
import { SessionDetail } from './session-detail.tsx'
import { SessionList } from './session-list.tsx'
import { selectSessions } from './selectors.ts'
import { place } from '../components/places.ts'
import './sessions-page.css'

export function SessionsPage({ id }: { id: string | null }): ReactNode {
  const session = useFeed((state) => (id === null ? undefined : state.tables.sessions.rows.get(id)))
  const hasAny = useFeed((state) => selectSessions(state).length > 0)
  const isStale = useDownSidecar('mcp-server') !== null
  return (
    <>
      <StaleBanner name="mcp-server" what="sessions" />
      <div className={`sessions-page ${session ? 'has-detail' : ''} ${isStale ? 'is-stale' : ''}`}>
        <SplitPane
          name="sessions"
          label="Width of the list of sessions"
          side="start"
          initialPx={340}
          minPx={260}
          maxPx={560}
          pane={
            <>
              <div className="section-list-head">
                <h1>Sessions</h1>
              </div>
              <SessionList currentId={id} />
            </>
          }
        >
          {session ? <SessionDetail key={session.id} session={session} /> : <NoSession id={id} hasAny={hasAny} />}
        </SplitPane>
      </div>
    </>
  )
}

function NoSession({ id, hasAny }: { id: string | null; hasAny: boolean }): ReactNode {
  if (id !== null)
    return (
      <>
        <PageHead title="Session" parent={{ name: 'Sessions', place: place('sessions') }} />
        <EmptyState title="This session is not known any more.">
          <p>Its requests and decisions are in the journal.</p>
        </EmptyState>
      </>
    )
  return (
    <EmptyState title={hasAny ? 'No session is open.' : 'No session yet.'}>
      <p>{hasAny ? 'Choose one from the list.' : 'A session appears when an agent attaches.'}</p>
    </EmptyState>
  )
}
