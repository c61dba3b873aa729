/** One session of Gatehouse's own: its transcript with the approvals where they happened, and the composer. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import type { ApprovalView, SessionView } from '../../../preload/api.ts'
import { sessionOfThread } from '../../../sidecars/protocol/ids.ts'
import { ApprovalCard } from '../../approvals/approval-card.tsx'
import { OutcomeLine } from '../../approvals/outcome-line.tsx'
import { shorten, subjectLine } from '../../approvals/subject-words.ts'
import { Button } from '../../components/button.tsx'
import { selectHome, shortenPath } from '../../components/folder-path.ts'
import { PageHead } from '../../components/page.tsx'
import { place, placeHref } from '../../components/places.ts'
import { formatCount } from '../../components/quantities.ts'
import { ErrorNote, SkeletonRows } from '../../components/states.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import { useFeed } from '../../feed/feed-context.tsx'
import { PostureChip } from '../posture-chip.tsx'
import { selectRequestsOfSession } from '../selectors.ts'
import { Composer } from './composer.tsx'
import { ThreadActions } from './thread-actions.tsx'
import { TakeBackDialog } from './take-back.tsx'
import { TranscriptItem } from './transcript-item.tsx'
import type { Transcript } from './transcript.ts'
import { useThread } from './use-thread.ts'
import './thread-view.css'

/** Nearer to the end than this counts as reading along. */
const AT_END_PX = 80

export function ThreadView({ threadId, session }: { threadId: string; session: SessionView | undefined }): ReactNode {
  const { thread, transcript, problem, loadOlder, reopen } = useThread(threadId)
  const requests = useFeed((state) => selectRequestsOfSession(state, sessionOfThread(threadId)))
  const home = useFeed(selectHome)
  const [takingBack, setTakingBack] = useState<string | null>(null)
  const title = thread?.name || session?.title || thread?.preview || 'New session'
  const isWorking = transcript.activeTurnId !== null

  return (
    <div className="page-column">
      <PageHead
        parent={{ name: 'Sessions', place: place('sessions') }}
        title={<VisibleText text={shorten(title, 80)} />}
        meta={session && <PostureChip posture={session.posture} />}
      >
        <ThreadActions threadId={threadId} title={title} transcript={transcript} />
      </PageHead>
      <Scroller first={transcript.entries[0]?.item.id}>
        {thread && (
          <p className="meta thread-facts">
            <VisibleText code text={shortenPath(thread.cwd, home)} /> · {thread.model ?? 'no model'} at{' '}
            {thread.modelProvider}
            {transcript.totalTokens !== null && ` · ${formatCount(transcript.totalTokens)} tokens`} ·{' '}
            <a
              className="link"
              href={placeHref(place('processes', null, { by: 'session', value: sessionOfThread(threadId) }))}
            >
              Processes
            </a>{' '}
            <a
              className="link"
              href={placeHref(place('network', null, { by: 'session', value: sessionOfThread(threadId) }))}
            >
              Connections
            </a>
          </p>
        )}
        {problem && <ErrorNote message={`This session cannot be read. ${problem}`} />}
        {!thread && !problem && <SkeletonRows label="Reading the session" />}
        {loadOlder && <Older onReach={loadOlder} />}
        <Entries transcript={transcript} requests={requests} onTakeBack={isWorking ? undefined : setTakingBack} />
        {transcript.failure && (
          <ErrorNote message={transcript.failure}>
            <a className="link" href={placeHref(place('settings'))}>
              Model providers
            </a>
          </ErrorNote>
        )}
      </Scroller>
      {thread && <Composer threadId={threadId} transcript={transcript} />}
      {takingBack !== null && (
        <TakeBackDialog
          threadId={threadId}
          turnId={takingBack}
          onClose={() => setTakingBack(null)}
          onDone={() => {
            setTakingBack(null)
            reopen()
          }}
        />
      )}
    </div>
  )
}

/** `first` is the first item of what is loaded. Follows the end while the reader is there; older pages come in above without moving what is read. */
function Scroller({ first, children }: { first: string | undefined; children: ReactNode }): ReactNode {
  const element = useRef<HTMLDivElement>(null)
  const edge = useRef({ isAtEnd: true, fromEndPx: 0 })
  const lastFirst = useRef(first)
  useLayoutEffect(() => {
    const box = element.current
    if (!box) return
    if (edge.current.isAtEnd) box.scrollTop = box.scrollHeight
    else if (first !== lastFirst.current) box.scrollTop = box.scrollHeight - edge.current.fromEndPx
    lastFirst.current = first
  })
  useEffect(() => {
    const box = element.current
    if (!box?.firstElementChild) return
    // Rows are laid out when they come near; then the end is elsewhere.
    const observer = new ResizeObserver(() => {
      if (edge.current.isAtEnd) box.scrollTop = box.scrollHeight
    })
    observer.observe(box.firstElementChild)
    return () => observer.disconnect()
  }, [])
  return (
    <div
      ref={element}
      className="page-body transcript"
      role="log"
      aria-label="Transcript"
      // What is being written is announced by its end, not letter by letter.
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: box }) => {
        const fromEndPx = box.scrollHeight - box.scrollTop
        edge.current = { isAtEnd: fromEndPx - box.clientHeight < AT_END_PX, fromEndPx }
      }}
    >
      <div className="transcript-column">{children}</div>
    </div>
  )
}

/** Loads the page above when it comes into view; also a button. */
function Older({ onReach }: { onReach: () => void }): ReactNode {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const box = element.current
    if (!box || typeof IntersectionObserver === 'undefined') return
    const observer = new IntersectionObserver((seen) => seen.some(({ isIntersecting }) => isIntersecting) && onReach())
    observer.observe(box)
    return () => observer.disconnect()
  }, [onReach])
  return (
    <div ref={element} className="older">
      <Button tone="quiet" onClick={onReach}>
        Older
      </Button>
    </div>
  )
}

interface EntriesProps {
  transcript: Transcript
  requests: readonly ApprovalView[]
  onTakeBack: ((turnId: string) => void) | undefined
}

function Entries({ transcript, requests, onTakeBack }: EntriesProps): ReactNode {
  const rows = useMemo(() => placedRequests(transcript, requests), [transcript, requests])
  return rows.map((row) =>
    'entry' in row ? (
      <div key={row.entry.item.id} className="transcript-row">
        <TranscriptItem entry={row.entry} onTakeBack={onTakeBack} />
      </div>
    ) : (
      <div key={row.request.id} className="transcript-row">
        <RequestInPlace request={row.request} />
      </div>
    ),
  )
}

type Row = { entry: Transcript['entries'][number] } | { request: ApprovalView }

/** What waits stands at the end; what is over stands where it was asked. */
function placedRequests({ entries }: Transcript, requests: readonly ApprovalView[]): Row[] {
  const firstAtMs = entries.find(({ atMs }) => atMs !== null)?.atMs ?? 0
  const over = requests
    .filter(
      ({ state, askedAtMs, decision }) =>
        state !== 'pending' && decision?.actor.kind === 'person' && askedAtMs >= firstAtMs,
    )
    .sort((a, b) => a.askedAtMs - b.askedAtMs)
  const rows: Row[] = []
  let next = 0
  for (const entry of entries) {
    while (next < over.length && entry.atMs !== null && over[next]!.askedAtMs < entry.atMs)
      rows.push({ request: over[next++]! })
    rows.push({ entry })
  }
  for (const request of over.slice(next)) rows.push({ request })
  for (const request of requests) if (request.state === 'pending') rows.push({ request })
  return rows
}

const nothing = (): void => {}

function RequestInPlace({ request }: { request: ApprovalView }): ReactNode {
  if (request.state === 'pending') return <ApprovalCard request={request} onBusy={nothing} onAnswered={nothing} />
  return (
    <p className="linked-row">
      <span className="truncate">
        <VisibleText code text={shorten(subjectLine(request.subject), 160)} />
      </span>
      <OutcomeLine request={request} />
    </p>
  )
}
