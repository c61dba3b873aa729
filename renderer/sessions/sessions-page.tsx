/** Sessions: the list, and the one that is open. */
import { useState, type ReactNode } from 'react'
import { threadOfSession } from '../../sidecars/protocol/ids.ts'
import { useActions } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { PageHead } from '../components/page.tsx'
import { SplitPane } from '../components/split-pane.tsx'
import { StaleBanner, useDownSidecar } from '../components/stale-banner.tsx'
import { EmptyState } from '../components/states.tsx'
import { selectHome } from '../components/folder-path.ts'
import { useFeed } from '../feed/feed-context.tsx'
import { NewSession, NoProvider } from './new-session.tsx'
import { ServerLine } from './server/server-line.tsx'
import { SessionDetail } from './session-detail.tsx'
import { SessionList } from './session-list.tsx'
import { selectSessions } from './selectors.ts'
import { ThreadView } from './thread/thread-view.tsx'
import { useSessionServer } from './server/use-session-server.ts'
import { useProviders } from './thread/use-providers.ts'
import { place } from '../components/places.ts'
import './sessions-page.css'

export function SessionsPage({ id }: { id: string | null }): ReactNode {
  const session = useFeed((state) => (id === null ? undefined : state.tables.sessions.rows.get(id)))
  const hasAny = useFeed((state) => selectSessions(state).length > 0)
  const isStale = useDownSidecar('mcp-server') !== null
  const latestFolder = useFeed(
    (state) => selectSessions(state).find(({ cwd }) => cwd !== null)?.cwd ?? selectHome(state) ?? '',
  )
  const [isStarting, setStarting] = useState(false)
  const threadId = id === null ? null : threadOfSession(id)
  useActions([{ id: 'new-session', title: 'New session', chord: 'Mod+N', run: () => setStarting(true) }])
  return (
    <>
      <StaleBanner name="mcp-server" what="sessions" />
      <div className={`sessions-page ${session || threadId !== null ? 'has-detail' : ''} ${isStale ? 'is-stale' : ''}`}>
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
                <Button icon="plus" inert={isStale} onClick={() => setStarting(true)}>
                  New session
                </Button>
              </div>
              <ServerLine />
              <SessionList currentId={id} />
            </>
          }
        >
          {threadId !== null ? (
            <ThreadView key={threadId} threadId={threadId} session={session} />
          ) : session ? (
            <SessionDetail key={session.id} session={session} />
          ) : (
            <NoSession id={id} hasAny={hasAny} />
          )}
        </SplitPane>
      </div>
      {isStarting && <NewSession initialFolder={latestFolder} onClose={() => setStarting(false)} />}
    </>
  )
}

function NoSession({ id, hasAny }: { id: string | null; hasAny: boolean }): ReactNode {
  const { providers } = useProviders()
  const isOwn = useSessionServer()?.kind !== 'external'
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
    <EmptyState title="No session is open.">
      <p>
        {hasAny
          ? 'Choose one from the list, or start one.'
          : 'One appears when an agent attaches, or when you start one here.'}
      </p>
      {isOwn && providers?.chosen === null && <NoProvider />}
    </EmptyState>
  )
}
