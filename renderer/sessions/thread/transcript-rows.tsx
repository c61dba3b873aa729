/** The rows of a transcript: its items, and the requests where they were asked. */
import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import type { ApprovalView, ProcessView } from '../../../preload/api.ts'
import { ApprovalCard } from '../../approvals/approval-card.tsx'
import { OutcomeLine } from '../../approvals/outcome-line.tsx'
import { commandText, shorten, subjectLine } from '../../approvals/subject-words.ts'
import { Button } from '../../components/button.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import { answerFields } from '../../../sidecars/protocol/answer-form.ts'
import { wordsOfShell } from './shell-words.ts'
import { TranscriptItem } from './transcript-item.tsx'
import { entriesOf, type Transcript, type TranscriptEntry } from './transcript.ts'

export interface TranscriptRowsProps {
  transcript: Transcript
  requests: readonly ApprovalView[]
  /** Folder of the session. */
  cwd: string | null
  /** By the tool call that they run for. */
  processes: ReadonlyMap<string, ProcessView>
  /** Id of an item that was searched for. */
  marked: string | null
  onTakeBack: ((turnId: string) => void) | undefined
}

export function TranscriptRows({
  transcript,
  requests,
  cwd,
  processes,
  marked,
  onTakeBack,
}: TranscriptRowsProps): ReactNode {
  const rows = useMemo(() => placedRequests(transcript, requests), [transcript, requests])
  const isAsked = requests.some(({ state }) => state === 'pending')
  return rows.map((row, index) =>
    'entry' in row ? (
      <div
        key={row.entry.item.id}
        data-row={row.entry.item.id}
        className={`transcript-row ${row.entry.item.id === marked ? 'marked' : ''}`}
      >
        <TranscriptItem
          entry={row.entry}
          cwd={cwd}
          process={processes.get(row.entry.item.id)}
          // Only what is open can wait: everything else stays as it was drawn.
          isAsked={isAsked && row.entry.isOpen}
          onTakeBack={onTakeBack}
        />
      </div>
    ) : (
      <RequestRow key={row.request.id} request={row.request} before={rows[index - 1]} />
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

function RequestRow({ request, before }: { request: ApprovalView; before: Row | undefined }): ReactNode {
  // Right behind its command the answer needs no name.
  const isAnswerOnly =
    request.state !== 'pending' && before !== undefined && 'entry' in before && isOf(before.entry, request)
  return (
    <div data-row={request.id} className={`transcript-row ${isAnswerOnly ? 'answered-here' : ''}`}>
      {request.state === 'pending' ? (
        <ApprovalCard request={request} onBusy={nothing} onAnswered={nothing} />
      ) : isAnswerOnly ? (
        <OutcomeLine request={request} />
      ) : (
        <p className="linked-row">
          <span className="truncate">
            <VisibleText
              code={answerFields(request.subject) === null}
              text={shorten(subjectLine(request.subject), 160)}
            />
          </span>
          <OutcomeLine request={request} />
        </p>
      )}
    </div>
  )
}

const isOf = ({ item }: TranscriptEntry, { subject }: ApprovalView): boolean =>
  item.type === 'commandExecution' &&
  subject.kind === 'command' &&
  wordsOfShell(item.command) === commandText(subject.argv)

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
