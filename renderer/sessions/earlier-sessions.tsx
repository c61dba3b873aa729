/** Sessions of Gatehouse's own that nobody has open: stored, and opened again by a press. */
import { useCallback, useEffect, useState, type ReactNode } from 'react'
import { sessionOfThread } from '../../sidecars/protocol/ids.ts'
import type { Thread } from '../../sidecars/protocol/owner-threads.ts'
import { Button } from '../components/button.tsx'
import { selectHome, shortenPath } from '../components/folder-path.ts'
import { Monogram } from '../components/monogram.tsx'
import { place, placeHref } from '../components/places.ts'
import { ErrorNote } from '../components/states.tsx'
import { Ago } from '../components/time-text.tsx'
import { VisibleText } from '../components/visible-text.tsx'
import { useFeed, useThreadCall } from '../feed/feed-context.tsx'
import type { FeedState } from '../feed/feed-state.ts'
import { useSessionServer } from './server/use-session-server.ts'

const PAGE_THREADS = 50
const SEARCH_DELAY_MS = 200

/** One text, so that it stays the same while the same sessions are open. */
const selectOpenIds = (state: FeedState): string =>
  [...state.tables.sessions.rows.values()]
    .filter(({ via }) => via.endsWith('app-server'))
    .map(({ id }) => id)
    .join(' ')

export interface EarlierSessionsProps {
  query: string
  currentId: string | null
}

export function EarlierSessions({ query, currentId }: EarlierSessionsProps): ReactNode {
  const call = useThreadCall()
  const home = useFeed(selectHome)
  const openIds = useFeed(selectOpenIds)
  const isReady = useFeed((state) => state.tables.sidecars.rows.get('mcp-server')?.state === 'ready')
  const [threads, setThreads] = useState<readonly Thread[]>([])
  const [cursor, setCursor] = useState<string | null>(null)
  const term = query.trim()
  const server = useSessionServer()
  const [failure, setFailure] = useState<string | null>(null)
  // Another connection may lead to other sessions.
  const source = server === null || server.state !== 'ready' ? null : `${server.address} ${server.life}`

  const read = useCallback(
    (after: string | null) =>
      call('thread/list', {
        limit: PAGE_THREADS,
        sortKey: 'updated_at',
        modelProviders: [],
        ...(term !== '' && { searchTerm: term }),
        ...(after !== null && { cursor: after }),
      }),
    [call, term],
  )
  useEffect(() => {
    if (!isReady || source === null) return
    let isCurrent = true
    const timer = setTimeout(
      () =>
        void read(null).then((page) => {
          if (!isCurrent) return
          setFailure(page.ok ? null : page.message)
          if (!page.ok) return
          setThreads(page.value.data.filter(({ id }) => !openIds.includes(sessionOfThread(id))))
          setCursor(page.value.nextCursor)
        }),
      term === '' ? 0 : SEARCH_DELAY_MS,
    )
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [isReady, openIds, read, source, term])

  if (failure !== null)
    return (
      <div className="list-nothing">
        <ErrorNote message={`Earlier sessions cannot be listed. ${failure}`} />
      </div>
    )
  if (threads.length === 0 || source === null) return null
  return (
    <section aria-label="Earlier sessions">
      <h2 className="session-group">Earlier</h2>
      <ul>
        {threads.map((thread) => (
          <li key={thread.id}>
            <a
              className="session-row"
              href={placeHref(place('sessions', sessionOfThread(thread.id)))}
              aria-current={sessionOfThread(thread.id) === currentId ? 'true' : undefined}
            >
              <Monogram name={server?.kind === 'external' ? 'Codex' : 'Gatehouse'} />
              <span className="session-title truncate">
                <VisibleText text={thread.name || thread.preview || 'Without words'} />
              </span>
              <span className="meta">
                <Ago atMs={thread.updatedAt * 1000} />
              </span>
              <span className="session-line meta">
                <span className="truncate">
                  <VisibleText code text={shortenPath(thread.cwd, home)} />
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {cursor !== null && (
        <Button
          tone="quiet"
          onClick={() =>
            void read(cursor).then((page) => {
              if (!page.ok) return
              setThreads((known) => [...known, ...page.value.data])
              setCursor(page.value.nextCursor)
            })
          }
        >
          Show more
        </Button>
      )}
    </section>
  )
}
