/** The rows of a transcript: its items, and the requests where they were asked. */
import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import type { ApprovalView, ProcessView } from '../../../preload/api.ts'
import { ApprovalCard } from '../../approvals/approval-card.tsx'
import { OutcomeLine } from '../../approvals/outcome-line.tsx'
import { shorten, subjectLine } from '../../approvals/subject-words.ts'
import { Button } from '../../components/button.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import { TranscriptItem } from './transcript-item.tsx'
import { entriesOf, type Transcript, type TranscriptEntry } from './transcript.ts'

export interface TranscriptRowsProps {
  transcript: Transcript
  requests: readonly ApprovalView[]
  /** By the tool call that they run for. */
  processes: ReadonlyMap<string, ProcessView>
  /** Id of an item that was searched for. */
  marked: string | null
  onTakeBack: ((turnId: string) => void) | undefined
}

export function TranscriptRows({
  transcript,
  requests,
  processes,
  marked,
  onTakeBack,
}: TranscriptRowsProps): ReactNode {
  const rows = useMemo(() => placedRequests(transcript, requests), [transcript, requests])
  return rows.map((row) =>
    'entry' in row ? (
      <div
        key={row.entry.item.id}
        data-row={row.entry.item.id}
        className={`transcript-row ${row.entry.item.id === marked ? 'marked' : ''}`}
      >
        <TranscriptItem entry={row.entry} process={processes.get(row.entry.item.id)} onTakeBack={onTakeBack} />
      </div>
    ) : (
      <div key={row.request.id} data-row={row.request.id} className="transcript-row">
        <RequestInPlace request={row.request} />
      </div>
    ),
  )
}

type Row = { entry: TranscriptEntry } | { request: ApprovalView }

/** What waits stands at the end; what is over stands where it was asked. */
function placedRequests(transcript: Transcript, requests: readonly ApprovalView[]): Row[] {
  const entries = entriesOf(transcript)
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
  if (transcript.isAtEnd) for (const request of over.slice(next)) rows.push({ request })
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

/** Reads the next page before its place comes into view; also a button. */
export function ReadOn({ words, onReach }: { words: string; onReach: () => void }): ReactNode {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const here = element.current
    if (!here || typeof IntersectionObserver === 'undefined') return
    const observer = new IntersectionObserver(
      (seen) => seen.some(({ isIntersecting }) => isIntersecting) && onReach(),
      {
        root: here.closest('.transcript'),
        rootMargin: '1200px 0px',
      },
    )
    observer.observe(here)
    return () => observer.disconnect()
  }, [onReach])
  return (
    <div ref={element} className="read-on">
      <Button tone="quiet" onClick={onReach}>
        {words}
      </Button>
    </div>
  )
}
