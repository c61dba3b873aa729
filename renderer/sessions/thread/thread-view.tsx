/** One session of Gatehouse's own: its transcript with the approvals where they happened, and the composer. */
import { useCallback, useMemo, useState, type ReactNode } from 'react'
import type { SessionView } from '../../../preload/api.ts'
import { sessionOfThread } from '../../../sidecars/protocol/ids.ts'
import { useActions } from '../../components/actions.tsx'
import { Button } from '../../components/button.tsx'
import { selectHome, shortenPath } from '../../components/folder-path.ts'
import { PageHead } from '../../components/page.tsx'
import { place, placeHref } from '../../components/places.ts'
import { countOf } from '../../components/quantities.ts'
import { EmptyState, ErrorNote, SkeletonRows } from '../../components/states.tsx'
import { VisibleText } from '../../components/visible-text.tsx'
import { shorten } from '../../approvals/subject-words.ts'
import { useFeed } from '../../feed/feed-context.tsx'
import { PostureChip } from '../posture-chip.tsx'
import { selectProcessesOfSession, selectRequestsOfSession } from '../selectors.ts'
import { Composer } from './composer.tsx'
import { FindInThread, type FoundPlace } from './find-in-thread.tsx'
import { PlanPanel } from './plan-panel.tsx'
import { ThreadActions } from './thread-actions.tsx'
import { ThreadSettingsButton } from './thread-settings.tsx'
import { TakeBackDialog } from './take-back.tsx'
import { ReadOn, TranscriptRows } from './transcript-rows.tsx'
import { TranscriptScroller, type ScrollTarget } from './transcript-scroller.tsx'
import { entriesOf } from './transcript.ts'
import { UsageLine } from './usage-line.tsx'
import { useThread } from './use-thread.ts'
import './thread-view.css'

export function ThreadView({ threadId, session }: { threadId: string; session: SessionView | undefined }): ReactNode {
  const open = useThread(threadId)
  const { thread, transcript, isRead, problem, loadOlder, loadNewer, reopen } = open
  const sessionId = sessionOfThread(threadId)
  const requests = useFeed((state) => selectRequestsOfSession(state, sessionId))
  const processes = useFeed((state) => selectProcessesOfSession(state, sessionId))
  const byToolCall = useMemo(
    () => new Map(processes.flatMap((process) => (process.toolCallId ? [[process.toolCallId, process]] : []))),
    [processes],
  )
  const [takingBack, setTakingBack] = useState<string | null>(null)
  const [isFinding, setFinding] = useState(false)
  const [target, setTarget] = useState<ScrollTarget | null>(null)
  const title = thread?.name || session?.title || thread?.preview || 'New session'
  const isWorking = transcript.activeTurnId !== null
  const hasNothing = isRead && entriesOf(transcript).length === 0 && loadOlder === null

  const show = useCallback((to: ScrollTarget['to']) => setTarget((last) => ({ to, nonce: (last?.nonce ?? 0) + 1 })), [])
  const { toEnd, toStart } = open
  const goToStart = useCallback(() => void toStart().then(() => show('start')), [show, toStart])
  const goToEnd = useCallback(() => {
    show('end')
    if (!transcript.isAtEnd) toEnd()
  }, [show, toEnd, transcript.isAtEnd])
  const goTo = useCallback(
    async ({ itemId, cursor }: FoundPlace) => {
      const isHeld = entriesOf(transcript).some(({ item }) => item.id === itemId)
      if (!isHeld) await open.toPlace(cursor)
      show({ row: itemId })
    },
    [open, show, transcript],
  )
  useActions([
    ...(isFinding
      ? []
      : [{ id: 'find-in-session', title: 'Find in this session', chord: 'Mod+F', run: () => setFinding(true) }]),
    { id: 'to-start', title: 'Go to the start of this session', chord: 'Mod+Home', run: goToStart },
    { id: 'to-end', title: 'Go to the end of this session', chord: 'Mod+End', run: goToEnd },
  ])

  return (
    <div className="page-column thread-view">
      <PageHead
        parent={{ name: 'Sessions', place: place('sessions') }}
        title={<VisibleText text={shorten(title, 80)} />}
        meta={session && <PostureChip posture={session.posture} />}
      >
        <ThreadActions
          threadId={threadId}
          title={title}
          transcript={transcript}
          isEmpty={hasNothing}
          onFind={() => setFinding(true)}
        />
      </PageHead>
      {thread && <ThreadFacts cwd={thread.cwd} threadId={threadId} transcript={transcript} />}
      {isFinding && <FindInThread threadId={threadId} onGo={goTo} onClose={() => setFinding(false)} />}
      <div className="transcript-frame">
        <TranscriptScroller isAtEnd={transcript.isAtEnd} target={target}>
          {problem && <ErrorNote message={`This session cannot be read. ${problem}`} />}
          {!isRead && !problem && <SkeletonRows label="Reading the session" />}
          {hasNothing && !isWorking && (
            <EmptyState title="Nothing was said yet.">
              <p>Write below what is to be done, or ! and a command to run it yourself in this folder.</p>
            </EmptyState>
          )}
          {loadOlder && <ReadOn words="Older" onReach={loadOlder} />}
          <TranscriptRows
            transcript={transcript}
            requests={requests}
            cwd={thread?.cwd ?? null}
            processes={byToolCall}
            marked={isFinding && typeof target?.to === 'object' ? target.to.row : null}
            onTakeBack={isWorking ? undefined : setTakingBack}
          />
          {loadNewer && <ReadOn words="Newer" onReach={loadNewer} />}
          {transcript.warning && (
            <p className="thread-warning" role="status">
              <VisibleText text={transcript.warning} />
            </p>
          )}
          {transcript.failure && (
            <ErrorNote message={transcript.failure}>
              <a className="link" href={placeHref(place('settings'))}>
                Model providers
              </a>
            </ErrorNote>
          )}
        </TranscriptScroller>
        {!transcript.isAtEnd && (
          <div className="to-end">
            <Button icon="end" onClick={goToEnd}>
              {transcript.unseen > 0 ? `To the end, ${countOf(transcript.unseen, 'new item')}` : 'To the end'}
            </Button>
          </div>
        )}
      </div>
      {transcript.plan && <PlanPanel steps={transcript.plan} />}
      {thread && <Composer threadId={threadId} transcript={transcript} onSent={goToEnd} />}
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

function ThreadFacts({
  cwd,
  threadId,
  transcript,
}: {
  cwd: string
  threadId: string
  transcript: ReturnType<typeof useThread>['transcript']
}): ReactNode {
  const home = useFeed(selectHome)
  const narrowing = { by: 'session' as const, value: sessionOfThread(threadId) }
  return (
    <div className="thread-facts meta">
      <span className="truncate" title={cwd}>
        <VisibleText code text={shortenPath(cwd, home)} />
      </span>
      {transcript.settings && (
        <ThreadSettingsButton
          threadId={threadId}
          settings={transcript.settings}
          activeTurnId={transcript.activeTurnId}
        />
      )}
      <span className="spacer" />
      {transcript.usage && <UsageLine usage={transcript.usage} />}
      <a className="link" href={placeHref(place('processes', null, narrowing))}>
        Processes
      </a>
      <a className="link" href={placeHref(place('network', null, narrowing))}>
        Connections
      </a>
    </div>
  )
}
