/** The Inbox: what waits for you, and what became of what waited. */
import { useEffect, type ReactNode } from 'react'
import { useFeed } from '../feed/feed-context.tsx'
import { useActions } from '../components/actions.tsx'
import { PageBody, PageHead } from '../components/page.tsx'
import { go, place, placeHref } from '../components/places.ts'
import { countOf } from '../components/quantities.ts'
import { SplitPane } from '../components/split-pane.tsx'
import { EmptyState } from '../components/states.tsx'
import { focusCard } from './approval-card.tsx'
import { FirstRun } from './first-run.tsx'
import { JournalPage } from './journal-page.tsx'
import { RequestHistory } from './request-history.tsx'
import { RequestQueue } from './request-queue.tsx'
import { RequestStack } from './request-stack.tsx'
import { selectIsFirstRun, selectPending } from './selectors.ts'
import { useCardOrder } from './use-card-order.ts'

export const JOURNAL_ID = 'journal'

/** `id` is the journal, or a request to go to. */
export function InboxPage({ id }: { id: string | null }): ReactNode {
  return id === JOURNAL_ID ? <JournalPage /> : <Inbox goToId={id} />
}

function Inbox({ goToId }: { goToId: string | null }): ReactNode {
  const pending = useFeed(selectPending)
  const isFirstRun = useFeed(selectIsFirstRun)
  const order = useCardOrder(pending)
  const isEmpty = order.groups.length === 0

  useActions([{ id: 'journal', title: 'Open the journal', run: () => go(place('inbox', JOURNAL_ID)) }])
  // Somebody pressed a notification or a link: this is the one case in which focus goes to a card.
  // A window that was opened for it does not know it yet.
  const isThere = goToId !== null && pending.some(({ id }) => id === goToId)
  useEffect(() => {
    if (isThere) focusCard(goToId)
  }, [goToId, isThere])

  const content = (
    <>
      <PageHead title="Inbox" meta={pending.length > 0 ? `${pending.length} waiting` : undefined}>
        <a className="link" href={placeHref(place('inbox', JOURNAL_ID))}>
          Journal
        </a>
      </PageHead>
      <PageBody>
        {isFirstRun && <FirstRun />}
        {isEmpty && !isFirstRun && <NothingWaits />}
        {!isEmpty && <RequestStack order={order} goToId={goToId} />}
        <RequestHistory />
      </PageBody>
    </>
  )
  return (
    <SplitPane
      name="inbox"
      label="Width of the queue"
      side="start"
      initialPx={280}
      minPx={200}
      maxPx={440}
      folded={isEmpty}
      pane={
        <>
          <div className="section-list-head">
            <h2>Queue</h2>
            <span className="meta">oldest first</span>
          </div>
          <div className="section-list" data-region="list" tabIndex={-1} role="region" aria-label="Queue of requests">
            <RequestQueue groups={order.groups} />
          </div>
        </>
      }
    >
      {content}
    </SplitPane>
  )
}

function NothingWaits(): ReactNode {
  const { decidedToday, allowedToday, blockedToday } = useFeed((state) => state.counters)
  return (
    <EmptyState title="Nothing waits for you.">
      <p>
        Today: {countOf(decidedToday, 'request')} answered, {countOf(allowedToday, 'connection')} allowed,{' '}
        {countOf(blockedToday, 'connection')} blocked.{' '}
        <a className="link" href={placeHref(place('inbox', JOURNAL_ID))}>
          Read the journal
        </a>
      </p>
    </EmptyState>
  )
}
